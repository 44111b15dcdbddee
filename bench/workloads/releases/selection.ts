import { parse } from "semver";
import { indexReleases } from "../../../lib/releases/catalog/snapshot";
import { Release } from "../../../lib/releases/schema";
import { parseReleaseSelector } from "../../../lib/releases/selection/parse-query";
import { selectPrimaryArtifact, selectRelease } from "../../../lib/releases/selection/select-release";
import { describeReleases, RELEASES } from "../../fixtures/catalog";
import { atMost, median, type Row, type Section } from "../../lib/table";

const ROUNDS = 5;
const CALLS = 200_000;
const MAX_MICROSECONDS = 5;
const current = parse("1.0.0") ?? undefined;

/** The time from a query to the selected release, in this process, without HTTP or cached responses. */
export async function selection(): Promise<Section> {
  const settled = snapshotOf(() => 100);
  const underWay = snapshotOf((i) => (i < RELEASES / 2 ? 100 : 1));
  const windows = { platform: "win32", product: "core", architecture: "x86_64", current: "1.0.0" };
  const macos = { ...windows, platform: "darwin", architecture: "aarch64" };
  return {
    title: `selection among ${RELEASES} releases`,
    rows: [
      row("rolled out to everybody", () => select(settled, windows)),
      row("with a fallback", () => select(settled, macos)),
      row(`${RELEASES / 2} at 1 percent, with a client id`, (i) => select(underWay, windows, `client ${i}`)),
    ],
  };
}

function select(snapshot: ReturnType<typeof snapshotOf>, query: Record<string, string>, clientId?: string) {
  return selectRelease(snapshot, parseReleaseSelector(query, snapshot), selectPrimaryArtifact, { clientId, current })
    .release;
}

function snapshotOf(rolloutOf: (i: number) => number) {
  const artifact = { url: "https://cdn.example.com/setup.exe", fileName: "setup.exe", sizeBytes: 1 };
  const installer = { ...artifact, sha256: "ab".repeat(32), sha512: Buffer.alloc(64).toString("base64") };
  const releases = describeReleases({ installer }).map((release, i) =>
    Release.parse({ ...release, releasedAt: release.releasedAt.toISOString(), rollout: rolloutOf(i) }),
  );
  return indexReleases(null, releases);
}

function row(candidate: string, run: (i: number) => unknown): Row {
  const rounds = Array.from({ length: ROUNDS + 1 }, () => {
    const startedAt = performance.now();
    for (let i = 0; i < CALLS; i++) if (!run(i)) throw new Error("No release was selected");
    return ((performance.now() - startedAt) * 1000) / CALLS;
  });
  const microseconds = median(rounds.slice(1)); // the first warms up
  const goal = atMost(microseconds, MAX_MICROSECONDS, " µs");
  return { candidate, throughput: `${microseconds.toPrecision(3)} µs`, goal };
}

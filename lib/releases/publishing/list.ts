import { hash } from "node:crypto";
import { compareBuild } from "semver";
import { ArtifactKind, formatVersion, type Release, type SignedUpdater, UPDATER_NAMES } from "../schema";
import type { Admission } from "./schema";

/** What the service says of a release, beyond the manifest. */
export type ServedFacts = { admission?: Admission; withheldFrom?: SignedUpdater[] };

/** A release as JSON has it: the manifest's fields with all defaults, and of signed documents the hashes. */
export type ReleaseDocument = ReturnType<typeof toDocument> & ServedFacts;

function toDocument({ artifacts, signedDocuments: { electron, sparkle }, ...release }: Release) {
  const { version, minimumSupportedVersion, requiresFrom, releasedAt } = release;
  return {
    ...release,
    version: formatVersion(version),
    minimumSupportedVersion: minimumSupportedVersion && formatVersion(minimumSupportedVersion),
    requiresFrom: requiresFrom && formatVersion(requiresFrom),
    releasedAt: releasedAt.toISOString(),
    artifacts: {
      ...artifacts,
      deltas: artifacts.deltas.map((delta) => ({ ...delta, from: formatVersion(delta.from) })),
    },
    signedDocuments: {
      ...(electron && { electron: { sha256: electron.sha256 } }),
      ...(sparkle && { sparkle: { sha256: hash("sha256", sparkle) } }),
    },
  };
}

/** Lists releases by product, platform and architecture, newest first. */
export function listReleases(
  releases: readonly Release[],
  factsOf: (release: Release) => ServedFacts = () => ({}),
): ReleaseDocument[] {
  const targetOf = ({ product, platform, architecture }: Release) => `${product} ${platform} ${architecture}`;
  return releases
    .toSorted(
      (a, b) =>
        targetOf(a).localeCompare(targetOf(b)) || compareBuild(b.version, a.version) || a.id.localeCompare(b.id),
    )
    .map((release) => ({ ...toDocument(release), ...factsOf(release) }));
}

export function renderTable(releases: readonly ReleaseDocument[]): string {
  const heading = ["PRODUCT", "PLATFORM", "ARCH", "VERSION", "CHANNEL", "STATE", "KINDS", "RELEASED", "ID"];
  const rows = releases.map((release) => [
    release.product,
    release.platform,
    release.architecture,
    release.version,
    release.channel,
    stateOf(release),
    kindsOf(release),
    release.releasedAt.slice(0, 10),
    release.id,
  ]);
  return alignColumns([heading, ...rows]);
}

function kindsOf({ artifacts }: ReleaseDocument): string {
  const { others, deltas } = artifacts;
  const kinds: string[] = ArtifactKind.options.filter((kind) => artifacts[kind]);
  if (others.length > 0) kinds.push(others.length === 1 ? "1 other" : `${others.length} others`);
  if (deltas.length > 0) kinds.push(deltas.length === 1 ? "1 delta" : `${deltas.length} deltas`);
  return kinds.join("+");
}

function stateOf(release: ReleaseDocument): string {
  const { yanked, rollout, rollback, critical, sample, admission, withheldFrom = [] } = release;
  if (yanked) return "yanked";
  if (admission === "pending") return "waits for approval";
  if (admission === "refused") return "not admitted";
  if (sample) return "sample";
  const reach = rollout === 100 ? "everyone" : rollout === 0 ? "paused" : `${rollout}%`;
  const withheld = withheldFrom.map((updater) => `withheld from ${UPDATER_NAMES[updater]}`);
  return [reach, ...withheld, rollback && "rollback", critical && "critical"].filter(Boolean).join(", ");
}

/** Renders rows as text in aligned columns; the first row is the heading. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const render = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => render(row).trimEnd()).join("\n");
}

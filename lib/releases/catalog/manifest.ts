import { constants, open, realpath } from "node:fs/promises";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import { ClimbingPathError, locate } from "../files";
import { Kind, Manifest, Release } from "../schema";
import { indexReleases, type Snapshot } from "./snapshot";

const MAX_BYTES = 16 * 1024 * 1024;
/** Releases checked in one go; requests are answered in between. */
const BATCH = 100;

/**
 * Reads and checks a manifest of at most 16 MiB. An artifact whose path leads out of the manifest's folder is
 * left out, with one logged error; anything else wrong refuses the whole.
 * @throws Error that says what is wrong.
 */
export async function loadManifest(file: string, log: Logger): Promise<Snapshot> {
  const releases = await parseReleases(await readCapped(file));
  const root = await realpath(path.dirname(file));
  for (const release of releases) await dropClimbing(root, release, log);
  return indexReleases(root, releases);
}

async function readCapped(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe must not hold us up
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error("The catalog is not a file");
    if (stats.size > MAX_BYTES) throw new Error(`The catalog has ${stats.size} bytes; at most ${MAX_BYTES} are read`);
    return new TextDecoder("utf-8", { fatal: true }).decode(await handle.readFile());
  } finally {
    await handle.close();
  }
}

async function parseReleases(text: string): Promise<Release[]> {
  const manifest = Manifest.safeParse(JSON.parse(text));
  if (!manifest.success) throw invalid([], manifest.error.issues);
  const releases: Release[] = [];
  for (const [i, given] of manifest.data.releases.entries()) {
    if (i % BATCH === BATCH - 1) await setImmediate();
    const release = Release.safeParse(given);
    if (!release.success) throw invalid(["releases", i], release.error.issues);
    releases.push(release.data);
  }
  return releases;
}

function invalid(at: PropertyKey[], issues: { path: PropertyKey[]; message: string }[]): Error {
  const faults = issues.slice(0, 5).map((issue) => `${[...at, ...issue.path].join(".")}: ${issue.message}`);
  return new Error(`The catalog is not valid: ${faults.join("; ")}`);
}

async function dropClimbing(root: string, release: Release, log: Logger): Promise<void> {
  for (const kind of Kind.options) {
    const file = release.artifacts[kind]?.file;
    if (file === undefined) continue;
    try {
      await locate(root, file);
    } catch (error) {
      if (!(error instanceof ClimbingPathError)) continue; // not there yet, perhaps: each download looks again
      log.error({ err: error, release: release.id, file }, "artifact left out of the catalog");
      delete release.artifacts[kind];
    }
  }
}

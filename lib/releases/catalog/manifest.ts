import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import type { z } from "zod";
import { PathTraversalError, resolveArtifactPath } from "../artifact-files";
import { isSampleSignature } from "../sample/sample-signatures";
import { type Artifact, Kind, Manifest, Release } from "../schema";
import type { PublicKeys } from "../signatures";
import type { RawManifest } from "./manifest-source";
import { indexReleases, type Snapshot } from "./snapshot";

/** Releases checked in one go; requests are answered in between. */
const BATCH = 100;

const MAX_FAULTS = 5;

/** What this process can serve beside files and addresses: `s3Key` artifacts, where storage is configured. */
export type Capabilities = { canPresign: boolean };

/**
 * Checks a manifest and indexes it. Artifacts that cannot be served from here are left out, with one logged
 * error for each path that leads out of the folder and one for all others of a sort; anything else wrong
 * refuses the whole.
 * @throws Error that says what is wrong.
 */
export async function loadSnapshot({ bytes, root }: RawManifest, means: Capabilities, log: Logger): Promise<Snapshot> {
  const { releases } = await parseManifest(bytes);
  const isFile = ({ file }: Artifact) => file !== undefined;
  const isStored = ({ s3Key }: Artifact) => s3Key !== undefined;
  if (root === null) leaveOut(releases, isFile, "a catalog at an address has no folder for files", log);
  if (!means.canPresign) leaveOut(releases, isStored, "RELEASE_S3_ENDPOINT and its like are not set", log);
  if (root !== null) for (const release of releases) await dropClimbing(root, release, log);
  return indexReleases(root, releases);
}

/**
 * Whether the service would take a manifest: what `loadSnapshot` asks of it, without a look at the files.
 * @throws Error that says what is wrong.
 */
export async function validateManifest(bytes: Uint8Array): Promise<ValidatedManifest> {
  const checked = await parseManifest(bytes);
  indexReleases(null, checked.releases);
  return checked;
}

type ValidatedManifest = { publicKeys: Record<string, PublicKeys>; releases: Release[] };

async function parseManifest(bytes: Uint8Array): Promise<ValidatedManifest> {
  const manifest = Manifest.safeParse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  if (!manifest.success) throw invalid([], manifest.error.issues);
  const releases: Release[] = [];
  for (const [i, given] of manifest.data.releases.entries()) {
    if (i % BATCH === BATCH - 1) await setImmediate();
    const release = Release.safeParse(given);
    if (!release.success) throw invalid(["releases", i], release.error.issues, given);
    releases.push({ ...release.data, sample: isSample(release.data) });
  }
  return { publicKeys: manifest.data.publicKeys ?? {}, releases };
}

function isSample({ sample, artifacts }: Release): boolean {
  return sample || Kind.options.some((kind) => isSampleSignature(artifacts[kind]?.minisign));
}

/** Names each member by where it stands, and the release by its id, which is easier to find. */
function invalid(at: PropertyKey[], issues: z.core.$ZodIssue[], release: unknown = null): Error {
  const id = (release as { id?: unknown } | null)?.id;
  const faults = issues.slice(0, MAX_FAULTS).flatMap((issue) => {
    const name = (path: PropertyKey[]) => [...at, ...path].join(".");
    if (issue.code !== "unrecognized_keys") return `${name(issue.path)}: ${issue.message}`;
    return issue.keys.map((key) => `${name([...issue.path, key])}: There is no such member`);
  });
  const which = typeof id === "string" ? ` (in the release ${id.slice(0, 128)})` : "";
  return new Error(`The catalog is not valid: ${faults.join("; ")}${which}`);
}

function leaveOut(releases: Release[], isUseless: (artifact: Artifact) => boolean, reason: string, log: Logger): void {
  const without = releases.filter(({ artifacts }) => {
    const useless = Kind.options.filter((kind) => artifacts[kind] && isUseless(artifacts[kind]));
    for (const kind of useless) delete artifacts[kind];
    return useless.length > 0;
  });
  if (without.length === 0) return;
  const examples = without.slice(0, 5).map(({ id }) => id);
  log.error({ releases: without.length, examples }, `artifacts left out of the catalog: ${reason}`);
}

async function dropClimbing(root: string, release: Release, log: Logger): Promise<void> {
  for (const kind of Kind.options) {
    const file = release.artifacts[kind]?.file;
    if (file === undefined) continue;
    try {
      await resolveArtifactPath(root, file);
    } catch (error) {
      if (!(error instanceof PathTraversalError)) continue; // not there yet, perhaps: each download looks again
      log.error({ err: error, release: release.id, file }, "artifact left out of the catalog");
      delete release.artifacts[kind];
    }
  }
}

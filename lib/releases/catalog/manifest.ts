import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import { z } from "zod";
import { fieldMessage } from "../../platform/field-message";
import { PathTraversalError, resolveArtifactPath } from "../artifact-files";
import { withheldAppcasts } from "../formats/signed-appcast";
import { releaseFiles, removeStoredFiles, storedFiles } from "../release-files";
import { isSampleSignature } from "../sample/sample-signatures";
import { ManifestDocument, Release, type StoredFile } from "../schema";
import { type PublicKeys, publicKeysOf } from "../signatures";
import type { RawManifest } from "./manifest-source";
import { verifySignedDocuments } from "./signed-documents";
import { indexReleases } from "./snapshot";

/** Releases that are parsed before the event loop gets a turn. */
const BATCH_SIZE = 100;
const MAX_REPORTED_ISSUES = 5;
const MAX_LOGGED_EXAMPLES = 5;

/** What this process can serve besides files and URLs. `canPresign`: the object storage is configured. */
export type Capabilities = { canPresign: boolean };

/**
 * Validates a manifest and indexes it. Leaves out artifacts that this process cannot serve, and logs them as one error
 * for each reason, or for each path outside the catalog's folder. @throws Error that describes any other fault
 */
export async function loadSnapshot({ bytes, root }: RawManifest, capabilities: Capabilities, log: Logger) {
  const { publicKeys, releases } = await parseManifest(bytes);
  const isFile = ({ file }: StoredFile) => file !== undefined;
  const isObject = ({ s3Key }: StoredFile) => s3Key !== undefined;
  if (root === null) omitFiles(releases, isFile, "a catalog at a URL has no folder for files", log);
  if (!capabilities.canPresign) omitFiles(releases, isObject, "the RELEASE_S3_ variables are not set", log);
  if (root !== null) for (const release of releases) await omitTraversingFiles(root, release, log);
  await omitUnverifiedDocuments(releases, publicKeys, log);
  warnOfPrereleases(releases, log);
  return indexReleases(root, releases);
}

/** Validates a manifest as `loadSnapshot` does, without access to its files. @throws Error that describes the fault */
export async function validateManifest(bytes: Uint8Array): Promise<ValidatedManifest> {
  const manifest = await parseManifest(bytes);
  indexReleases(null, manifest.releases);
  return manifest;
}

type ValidatedManifest = { publicKeys: Record<string, PublicKeys>; releases: Release[] };

async function parseManifest(bytes: Uint8Array): Promise<ValidatedManifest> {
  const manifest = ManifestDocument.safeParse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)), {
    error: fieldMessage,
  });
  if (!manifest.success) throw invalidManifest(ManifestDocument, [], manifest.error.issues);
  const releases: Release[] = [];
  for (const [i, entry] of manifest.data.releases.entries()) {
    if (i % BATCH_SIZE === BATCH_SIZE - 1) await setImmediate();
    const release = Release.safeParse(entry, { error: fieldMessage });
    if (!release.success) throw invalidManifest(Release, ["releases", i], release.error.issues, entry);
    releases.push({ ...release.data, sample: isSample(release.data) });
  }
  return { publicKeys: manifest.data.publicKeys ?? {}, releases };
}

function isSample(release: Release): boolean {
  return release.sample || releaseFiles(release).some(({ minisign }) => isSampleSignature(minisign));
}

/** Names each field by its path, and the release by its id, which is easier to find. */
function invalidManifest(
  schema: z.ZodType,
  parent: PropertyKey[],
  issues: z.core.$ZodIssue[],
  entry: unknown = null,
): Error {
  const id = (entry as { id?: unknown } | null)?.id;
  const descriptions = issues.slice(0, MAX_REPORTED_ISSUES).flatMap((issue) => {
    const pathTo = (path: PropertyKey[]) => [...parent, ...path].join(".");
    if (issue.code !== "unrecognized_keys") return `${pathTo(issue.path)}: ${issue.message}`;
    return issue.keys.map((key) => {
      const meant = nearestField(schema, issue.path, key);
      return `${pathTo([...issue.path, key])}: Unknown field${meant ? `, did you mean ${meant}?` : ""}`;
    });
  });
  const release = typeof id === "string" ? ` (in the release ${id.slice(0, 128)})` : "";
  return new Error(`The catalog is not valid: ${descriptions.join("; ")}${release}`);
}

/** `release add` rejects them unless they are confirmed. A catalog that was written by hand stays valid. */
function warnOfPrereleases(releases: readonly Release[], log: Logger): void {
  const prereleases = releases.filter(
    ({ channel, version, yanked }) => channel === "stable" && version.prerelease.length > 0 && !yanked,
  );
  if (prereleases.length === 0) return;
  const examples = prereleases.slice(0, MAX_LOGGED_EXAMPLES).map(({ id }) => id);
  log.warn({ releases: prereleases.length, examples }, "prereleases on the stable channel are offered to every client");
}

/** A document that its updater would refuse is never served: the release is then not offered to the updater. */
async function omitUnverifiedDocuments(
  releases: readonly Release[],
  publicKeys: ValidatedManifest["publicKeys"],
  log: Logger,
): Promise<void> {
  let count = 0;
  for (const release of releases) {
    if (Object.keys(release.signedDocuments).length === 0) continue;
    if (++count % BATCH_SIZE === 0) await setImmediate();
    for (const { updater, problem } of verifySignedDocuments(release, publicKeysOf(publicKeys, release.product))) {
      log.error(
        { release: release.id, updater, problem },
        "release not offered to an updater: its document is not valid",
      );
      release.signedDocuments[updater] = null;
    }
  }
  for (const [{ id, product }, version] of withheldAppcasts(releases)) {
    log.warn({ release: id, product, version }, "release not offered to Sparkle: its appcast has another version");
  }
}

function omitFiles(releases: Release[], isOmitted: (file: StoredFile) => boolean, reason: string, log: Logger): void {
  const affected = releases.filter((release) => storedFiles(release).some(isOmitted));
  for (const release of affected) removeStoredFiles(release, isOmitted);
  if (affected.length === 0) return;
  const examples = affected.slice(0, MAX_LOGGED_EXAMPLES).map(({ id }) => id);
  log.error({ releases: affected.length, examples }, `artifacts left out of the catalog: ${reason}`);
}

async function omitTraversingFiles(root: string, release: Release, log: Logger): Promise<void> {
  const traversing = new Set<string>();
  for (const file of new Set(storedFiles(release).flatMap(({ file }) => file ?? []))) {
    try {
      await resolveArtifactPath(root, file);
    } catch (error) {
      if (!(error instanceof PathTraversalError)) continue; // a missing file may still appear: downloads check again
      log.error({ err: error, release: release.id, file }, "artifact left out of the catalog");
      traversing.add(file);
    }
  }
  if (traversing.size > 0) removeStoredFiles(release, ({ file }) => file !== undefined && traversing.has(file));
}

/** Names are at most this different from a field that was meant. */
const MAX_DISTANCE = 2;

/** The field of the object at `path` in a schema whose name is the nearest to `name`; undefined if none is near. */
function nearestField(schema: z.ZodType, path: readonly PropertyKey[], name: string): string | undefined {
  const object = schemaAt(schema, path);
  const known = object instanceof z.ZodObject ? Object.keys(object.shape) : [];
  const near = known
    .map((field) => ({ field, distance: editDistance(name.toLowerCase(), field.toLowerCase()) }))
    .filter(({ field, distance }) => distance <= Math.min(MAX_DISTANCE, field.length / 2));
  return near.sort((a, b) => a.distance - b.distance)[0]?.field;
}

function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  const inner = unwrap(schema);
  const [step, ...rest] = path;
  if (step === undefined) return inner;
  const next: unknown =
    inner instanceof z.ZodObject
      ? inner.shape[String(step)]
      : inner instanceof z.ZodArray
        ? inner.element
        : inner instanceof z.ZodRecord
          ? inner.valueType
          : undefined;
  return next instanceof z.ZodType ? schemaAt(next, rest) : undefined;
}

function unwrap(schema: z.ZodType): z.ZodType {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  const inner: unknown = isWrapped ? schema.unwrap() : schema;
  return isWrapped && inner instanceof z.ZodType ? unwrap(inner) : schema;
}

/** Levenshtein's distance: the number of characters to insert, delete or replace. For short names. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, character] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

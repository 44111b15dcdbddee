import { realpath } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { attachment } from "../../platform/content-disposition";
import { type ReleaseReader, withAccess } from "../access";
import { resolveArtifactPath } from "../artifact-files";
import { type ServedFile, servedFiles } from "../release-files";
import { ArtifactKind, type Release } from "../schema";
import { type OnProgress, readChunks, withDigest } from "./files/build-file";
import { filterReleases } from "./filter-releases";
import { readManifest } from "./manifest-file";
import type { ReleasesFilter } from "./schema";
import { findRelease, withCatalogFile, withoutFolder } from "./service-catalog";

export type VerifyResult = VerifiedRelease["files"][number] & { id: string };

/** `stallTimeoutMs`: how long a transfer may send nothing. */
export type VerifyOptions = {
  trustedRoots?: Config["SIGSTORE_TRUSTED_ROOT"];
  shouldVerifyRemote: boolean;
  shouldSkipUrls?: boolean;
  storage: Context["storage"];
  stallTimeoutMs?: number;
};

const STALL_TIMEOUT_MS = 30_000;

/** Hashes the artifacts of releases again, without yanked ones, and compares them with the catalog. Verifies attestations again. */
export async function* verifyReleases(
  manifestFile: string,
  releases: readonly Release[],
  options: VerifyOptions,
  onProgress?: OnProgress,
): AsyncGenerator<VerifyResult> {
  const folder = path.dirname(manifestFile);
  for (const release of releases.filter(({ yanked }) => !yanked)) {
    const { id, artifacts } = release;
    const verified = new Set<string>();
    for (const artifact of servedFiles(release)) {
      const location = locationOf(artifact);
      if (verified.has(location) || !shouldVerify(artifact, options)) continue;
      verified.add(location);
      const kinds = ArtifactKind.options.filter((kind) => artifacts[kind] && locationOf(artifacts[kind]) === location);
      const open = () => openArtifact(artifact, folder, options);
      yield { id, kinds, location, problem: await findProblem(open, artifact, options.trustedRoots, onProgress) };
    }
  }
}

function shouldVerify({ file, url }: ServedFile, { shouldVerifyRemote, shouldSkipUrls }: VerifyOptions): boolean {
  return file !== undefined || (shouldVerifyRemote && !(url !== undefined && shouldSkipUrls));
}

/** Includes the hash, so that two kinds with the same file are read once. */
function locationOf({ file, url, s3Key, sha256 }: ServedFile): string {
  return `${file ?? url ?? `s3:${s3Key}`} ${sha256.slice(0, 12)}`;
}

/** Reads bytes and compares them with what the catalog says. Returns null if they are right. */
export async function findProblem(
  open: () => Promise<AsyncIterable<Uint8Array>>,
  artifact: Pick<ServedFile, "sizeBytes" | "sha256" | "sha512" | "attests">,
  trustedRoots: Config["SIGSTORE_TRUSTED_ROOT"],
  onProgress?: OnProgress,
): Promise<string | null> {
  try {
    const { bytes, digest } = withDigest(await open());
    const attestation: Uint8Array[] = [];
    let doneBytes = 0;
    for await (const chunk of bytes) {
      if (artifact.attests) attestation.push(chunk);
      doneBytes += chunk.byteLength;
      if (doneBytes > artifact.sizeBytes) return "the file is longer than the catalog says";
      onProgress?.("Hashing", doneBytes, artifact.sizeBytes);
    }
    const found = digest();
    const different = (["sizeBytes", "sha256", "sha512"] as const).filter(
      (name) => artifact[name] !== null && found[name] !== artifact[name],
    );
    if (different.length > 0) return `the file differs from the catalog in ${different.join(", ")}`;
    if (artifact.attests) await verifyBundle(Buffer.concat(attestation), artifact.attests, trustedRoots);
    return null;
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? `${message}: ${cause.message}` : message;
  }
}

async function verifyBundle(bytes: Buffer, sha256: string, roots: Config["SIGSTORE_TRUSTED_ROOT"]): Promise<void> {
  const { verifyAttestation } = await import("./attestations/verify-attestation");
  verifyAttestation(JSON.parse(bytes.toString()), sha256, roots);
}

async function openArtifact(artifact: ServedFile, folder: string, options: VerifyOptions) {
  const { file, url, s3Key, fileName, contentType } = artifact;
  const { storage, stallTimeoutMs } = options;
  if (file !== undefined) return readChunks(await resolveArtifactPath(await realpath(folder), file), () => {});
  if (url !== undefined) return fetchBytes(url, stallTimeoutMs);
  if (!storage || s3Key === undefined) throw new Error("The RELEASE_S3_ variables are not set");
  const object = { key: s3Key, contentType, contentDisposition: attachment(fileName) };
  return fetchBytes(await storage.presignGet(object), stallTimeoutMs);
}

/** Downloads, and follows redirects, as a client would. Not for URLs that a caller of the service has chosen. */
export function fetchBytes(url: string, stallTimeoutMs?: number): AsyncGenerator<Uint8Array> {
  return readSteadily(async (signal) => {
    const response = await fetch(url, { signal, headers: { "accept-encoding": "identity" }, redirect: "follow" });
    if (!response.ok) throw new Error(`the response status is ${response.status}`);
    return response.body ?? Readable.from([]);
  }, stallTimeoutMs);
}

/** Reads a response without a total time limit, as long as bytes keep arriving. */
export async function* readSteadily(
  open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>,
  stallTimeoutMs = STALL_TIMEOUT_MS,
): AsyncGenerator<Uint8Array> {
  const aborting = new AbortController();
  const onStall = () => aborting.abort(new Error(`no bytes arrived for ${stallTimeoutMs / 1000} s`));
  const timer = setTimeout(onStall, stallTimeoutMs);
  try {
    for await (const chunk of await open(aborting.signal)) {
      timer.refresh();
      yield chunk;
    }
  } catch (error) {
    aborting.signal.throwIfAborted(); // with its reason
    throw error;
  } finally {
    clearTimeout(timer);
    aborting.abort();
  }
}

export const Verification = z.strictObject({
  releaseId: z.string().min(1).max(128),
  isStorageIncluded: z.boolean().default(true).describe("Whether files in object storage are hashed, too."),
});
type Verification = z.infer<typeof Verification>;

export const VerifiedRelease = z.object({
  files: z.array(
    z.object({
      kinds: z.array(ArtifactKind).describe("Empty for others, deltas, block maps and attestations."),
      location: z
        .string()
        .describe("The path in the catalog's folder, or the object's key, and the start of the SHA-256."),
      problem: z.string().nullable().describe("null: every byte is as it was published."),
    }),
  ),
  elsewhere: z.int().describe("How many files are at URLs, where this service does not read them."),
});
export type VerifiedRelease = z.infer<typeof VerifiedRelease>;

type Deps = Pick<Context, "config" | "storage">;

/**
 * Hashes the files of a release again and verifies its attestations, without those at URLs: a caller may have chosen them.
 * @throws AppError release_not_found; those of `withCatalogFile`
 */
export async function verifyRelease(
  { config, storage }: Deps,
  reader: ReleaseReader,
  { releaseId: id, isStorageIncluded }: Verification,
): Promise<VerifiedRelease> {
  const release = await findRelease(config, reader, id);
  const trustedRoots = config.SIGSTORE_TRUSTED_ROOT;
  const options = { shouldVerifyRemote: isStorageIncluded, shouldSkipUrls: true, storage, trustedRoots } as const;
  return withCatalogFile(config, async (file) => {
    const files: VerifiedRelease["files"] = [];
    for await (const { kinds, location, problem } of verifyReleases(file, [release], options)) {
      files.push({ kinds, location, problem: problem && withoutFolder(problem, file) });
    }
    return { files, elsewhere: servedFiles(release).filter(({ url }) => url !== undefined).length };
  });
}

/** Verifies the files of all releases of a version. @throws AppError artifact_unavailable that names what is wrong */
export async function verifyVersion(deps: Deps, reader: ReleaseReader, filter: ReleasesFilter): Promise<void> {
  const { releases } = await withCatalogFile(deps.config, readManifest);
  const problems: string[] = [];
  for (const { id } of filterReleases(releases, withAccess(reader, filter))) {
    const { files } = await verifyRelease(deps, reader, { releaseId: id, isStorageIncluded: true });
    for (const { location, problem } of files) if (problem !== null) problems.push(`${id}, ${location}: ${problem}`);
  }
  if (problems.length > 0) throw new AppError("artifact_unavailable", { detail: problems.join(". ") });
}

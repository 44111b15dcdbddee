import { realpath } from "node:fs/promises";
import path from "node:path";
import { create as contentDisposition } from "content-disposition";
import type { Context } from "../../context";
import { resolveArtifactPath } from "../../releases/artifact-files";
import { type Artifact, ArtifactKind, type Release } from "../../releases/schema";
import { type OnProgress, readChunks, withDigest } from "./build-file";

/** What came of one artifact. `fault` says what is wrong; null: every byte is as published. */
export type VerifyResult = { id: string; kinds: ArtifactKind[]; location: string; problem: string | null };

/** `remote`: also fetch what lies at addresses and in the storage. `stallTimeoutMs`: how long those may say nothing. */
export type VerifyOptions = { remote: boolean; storage: Context["storage"]; stallTimeoutMs?: number };

const SILENT_MS = 30_000;

/**
 * Hashes every file that the catalog serves again, and holds it against the catalog. Yanked releases are left
 * out, and without `remote` what lies elsewhere.
 */
export async function* verifyReleases(
  manifestFile: string,
  releases: readonly Release[],
  reach: VerifyOptions,
  onProgress?: OnProgress,
): AsyncGenerator<VerifyResult> {
  const folder = path.dirname(manifestFile);
  for (const { id, artifacts } of releases.filter(({ yanked }) => !yanked)) {
    const done = new Set<string>();
    for (const artifact of Object.values(artifacts)) {
      const place = artifact && placeOf(artifact);
      if (!place || done.has(place) || (artifact.file === undefined && !reach.remote)) continue;
      done.add(place);
      const kinds = ArtifactKind.options.filter((kind) => artifacts[kind] && placeOf(artifacts[kind]) === place);
      yield { id, kinds, location: place, problem: await judge(artifact, folder, reach, onProgress) };
    }
  }
}

/** What one entry says and where, so that two kinds with one file are read once. */
function placeOf({ file, url, s3Key, sha256 }: Artifact): string {
  return `${file ?? url ?? `s3:${s3Key}`} ${sha256.slice(0, 12)}`;
}

async function judge(
  artifact: Artifact,
  folder: string,
  reach: VerifyOptions,
  onProgress?: OnProgress,
): Promise<string | null> {
  try {
    const { bytes, digest } = withDigest(await openArtifact(artifact, folder, reach));
    let doneBytes = 0;
    for await (const chunk of bytes) {
      doneBytes += chunk.byteLength;
      if (doneBytes > artifact.sizeBytes) return "it is longer than the catalog says";
      onProgress?.("Hashing", doneBytes, artifact.sizeBytes);
    }
    const found = digest();
    const different = (["sizeBytes", "sha256", "sha512"] as const).filter((name) => found[name] !== artifact[name]);
    return different.length > 0 ? `it differs from the catalog in ${different.join(", ")}` : null;
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? `${message}: ${cause.message}` : message;
  }
}

async function openArtifact(
  { file, url, s3Key, fileName, contentType }: Artifact,
  folder: string,
  reach: VerifyOptions,
) {
  if (file !== undefined) return readChunks(await resolveArtifactPath(await realpath(folder), file), () => {});
  if (url !== undefined) return fetchBytes(url, reach.stallTimeoutMs ?? SILENT_MS);
  if (!reach.storage || s3Key === undefined) throw new Error("RELEASE_S3_ENDPOINT and its like are not set");
  const named = { key: s3Key, contentType, contentDisposition: contentDisposition(fileName) };
  return fetchBytes(await reach.storage.presignGet(named), reach.stallTimeoutMs ?? SILENT_MS);
}

/** What lies at an address, as long as bytes keep coming. */
async function* fetchBytes(url: string, stallTimeoutMs: number): AsyncGenerator<Uint8Array> {
  const silence = new AbortController();
  const timer = setTimeout(
    () => silence.abort(new Error(`nothing came for ${stallTimeoutMs / 1000} s`)),
    stallTimeoutMs,
  );
  try {
    const response = await fetch(url, { signal: silence.signal, headers: { "accept-encoding": "identity" } });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

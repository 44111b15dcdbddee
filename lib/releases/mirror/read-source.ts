import type { Context } from "../../context";
import { attachment } from "../../platform/content-disposition";
import { type AllowedNetworks, openDownload } from "../../platform/outbound";
import { resolveArtifactPath } from "../artifact-files";
import { readChunks, withDigest } from "../publishing/files/build-file";
import { fetchBytes, readSteadily } from "../publishing/verify";
import type { ServedFile } from "../release-files";

type Sources = {
  root: string | null;
  storage: Context["storage"];
  allowed: AllowedNetworks;
  /** Whether the file is no longer needed. */
  isStopped: () => boolean;
};

/**
 * Reads a file of a release from where it is stored, and checks it: the last bytes come only if all are those that were published.
 * A caller may have chosen the URL of a file, so that it, and those that it redirects to, have to be public ones. @throws Error
 */
export async function* readSource(sources: Sources, artifact: ServedFile): AsyncGenerator<Uint8Array> {
  const { bytes, digest } = withDigest(await openSource(sources, artifact));
  let held: Uint8Array | undefined;
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > artifact.sizeBytes) break;
    if (sources.isStopped()) throw new Error("The copy was stopped");
    if (held) yield held;
    held = chunk;
  }
  if (digest().sha256 !== artifact.sha256) throw new Error("The file differs from the catalog's: publish it again");
  if (held) yield held;
}

async function openSource(
  { root, storage, allowed }: Sources,
  { file, url, s3Key, fileName, contentType }: ServedFile,
) {
  if (file !== undefined) {
    if (root === null) throw new Error("The catalog has no folder");
    return readChunks(await resolveArtifactPath(root, file), () => {});
  }
  if (url !== undefined) return readSteadily((signal) => openDownload(url, allowed, signal));
  if (!storage || s3Key === undefined) throw new Error("The RELEASE_S3_ variables are not set");
  const object = { key: s3Key, contentType, contentDisposition: attachment(fileName) };
  return fetchBytes(await storage.presignGet(object));
}

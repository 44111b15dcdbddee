import { constants, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { MAX_MANIFEST_BYTES, type ManifestSource, ManifestTooLargeError } from "./manifest-source";

const POLL_MS = 1_000;

/** A manifest in a file, looked at every second. It is read again where its inode, size or time has changed. */
export function fileSource(file: string): ManifestSource {
  let lastRead = "";
  return {
    name: file,
    pollMs: POLL_MS,
    read: async () => {
      const seen = await fingerprint(file); // before reading: what is written meanwhile shows as another change
      if (seen === lastRead) return null;
      lastRead = "";
      const found = { bytes: await readManifestFile(file), root: await realpath(path.dirname(file)) };
      lastRead = seen;
      return found;
    },
  };
}

async function fingerprint(file: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/** @throws Error for what is no file, or larger than MAX_BYTES; what the file system throws. */
export async function readManifestFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe must not hold us up
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error("The catalog is not a file");
    if (stats.size > MAX_MANIFEST_BYTES) throw new ManifestTooLargeError();
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

import { constants, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
export type RawManifest = {
  bytes: Uint8Array;
  /** The folder of the `file` artifacts, symbolic links resolved; null if the source has none. */
  root: string | null;
};

export type ManifestSource = {
  /** For the log, without secrets. */
  name: string;
  pollMs: number;
  /** Returns the manifest, or null if it has not changed since the last call. @throws Error if it cannot be read */
  read: () => Promise<RawManifest | null>;
  /** Returns the last valid manifest that an earlier process cached, if any. */
  readCached?: () => Promise<RawManifest | null>;
  writeCached?: (manifest: RawManifest) => Promise<void>;
  close?: () => void;
};

/** A manifest of 50 MB blocks the event loop for a fifth of a second once per change; larger ones are rejected. */
export const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

export class ManifestTooLargeError extends Error {
  constructor() {
    super(`The catalog is larger than the maximum of ${MAX_MANIFEST_BYTES} bytes`);
  }
}

const POLL_MS = 1_000;

/** A manifest file that is checked every second, and read again when its inode, size or modification time changes. */
export function fileSource(file: string): ManifestSource {
  let lastFingerprint = "";
  return {
    name: file,
    pollMs: POLL_MS,
    read: async () => {
      const fingerprint = await fingerprintOf(file); // before reading, so that a concurrent write counts as a change
      if (fingerprint === lastFingerprint) return null;
      lastFingerprint = "";
      const manifest = { bytes: await readManifestFile(file), root: await realpath(path.dirname(file)) };
      lastFingerprint = fingerprint;
      return manifest;
    },
  };
}

async function fingerprintOf(file: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

/** Reads a manifest file. @throws Error if it is not a regular file or too large; the file system's errors */
export async function readManifestFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK); // opening a pipe must not block
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error("The catalog is not a regular file");
    if (stats.size > MAX_MANIFEST_BYTES) throw new ManifestTooLargeError();
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

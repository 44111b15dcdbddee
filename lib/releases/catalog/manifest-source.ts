/** A manifest as it came, not checked yet. */
export type RawManifest = {
  bytes: Uint8Array;
  /** The folder that its `file` artifacts lie in, symbolic links resolved; null where it has none. */
  root: string | null;
};

/** Where the manifest comes from. */
export type ManifestSource = {
  /** For the log: without anything that may be secret. */
  name: string;
  pollMs: number;
  /**
   * The manifest, or null where it is the one that was read last.
   * @throws Error that says why it cannot be read.
   */
  read: () => Promise<RawManifest | null>;
  /** The last good one that an earlier process kept, where there is one. */
  readCached?: () => Promise<RawManifest | null>;
  /** Keeps a good one for a later process. */
  writeCached?: (found: RawManifest) => Promise<void>;
  /** Gives up what is being read. */
  close?: () => void;
};

/** Larger manifests are refused. One of 50 MB holds the process up for a fifth of a second, once a change. */
export const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

/** A manifest that is larger than what is read. */
export class ManifestTooLargeError extends Error {
  constructor() {
    super(`The catalog is larger than ${MAX_MANIFEST_BYTES} bytes, which is the most that is read`);
  }
}

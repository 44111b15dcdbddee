/** A manifest as it was read, not validated yet. */
export type RawManifest = {
  bytes: Uint8Array;
  /** The folder of the `file` artifacts, symbolic links resolved; null if the source has none. */
  root: string | null;
};

/** A location that a manifest is read from. */
export type ManifestSource = {
  /** For the log, without secrets. */
  name: string;
  pollMs: number;
  /**
   * Returns the manifest, or null if it has not changed since the last call.
   * @throws Error if it cannot be read
   */
  read: () => Promise<RawManifest | null>;
  /** Returns the last valid manifest that an earlier process cached, if any. */
  readCached?: () => Promise<RawManifest | null>;
  /** Caches a valid manifest for a later process. */
  writeCached?: (manifest: RawManifest) => Promise<void>;
  /** Aborts a read in progress. */
  close?: () => void;
};

/** A manifest of 50 MB blocks the event loop for a fifth of a second once per change; larger ones are rejected. */
export const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

/** A manifest exceeds `MAX_MANIFEST_BYTES`. */
export class ManifestTooLargeError extends Error {
  constructor() {
    super(`The catalog is larger than the maximum of ${MAX_MANIFEST_BYTES} bytes`);
  }
}

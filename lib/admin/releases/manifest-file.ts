import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { makeFolder, writeDurably } from "../../files/durable";
import { FileLockedError, lockFile } from "../../files/lock";
import { validateManifest } from "../../releases/catalog/manifest";
import { MAX_MANIFEST_BYTES } from "../../releases/catalog/manifest-source";
import type { Release } from "../../releases/schema";
import type { PublicKeys } from "../../releases/signatures";

/** An error whose message is meant for the operator. */
export class PublishingError extends Error {
  override readonly name = "PublishingError";
}

/** A release in the manifest, unvalidated. */
export type ManifestEntry = Record<string, unknown>;

/** A manifest to edit. `releases` are the parsed `entries`, in the same order. */
export type EditableManifest = {
  publicKeys: Readonly<Record<string, PublicKeys>>;
  entries: readonly ManifestEntry[];
  releases: readonly Release[];
};

/** The outcome of a change. `beforeWrite` runs once the new manifest has been validated. */
export type ManifestChange<T> = Pick<EditableManifest, "entries"> & {
  publicKeys?: EditableManifest["publicKeys"];
  result: T;
  beforeWrite?: () => Promise<void>;
};

const MAX_LOCK_WAIT_MS = 60_000;

/** Reads a manifest; a missing file is an empty one. @throws PublishingError if the service would reject it */
export async function readManifest(file: string): Promise<EditableManifest> {
  try {
    const bytes = await readFile(file);
    const { publicKeys, releases } = await validateManifest(bytes);
    const document = JSON.parse(new TextDecoder().decode(bytes)); // accepts a byte order mark
    return { publicKeys, entries: document.releases as ManifestEntry[], releases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new PublishingError(`${file} cannot be used: ${(error as Error).message}`);
  }
}

const EMPTY: EditableManifest = { publicKeys: {}, entries: [], releases: [] };

/**
 * Changes a manifest under a lock, and writes it atomically. Writes nothing if the service would reject the new manifest,
 * or if nothing has changed.
 * @throws PublishingError
 */
export async function changeManifest<T>(
  file: string,
  change: (manifest: EditableManifest) => ManifestChange<T> | Promise<ManifestChange<T>>,
): Promise<T> {
  await makeFolder(path.dirname(file));
  const target = await realpath(file).catch(() => file); // replaces the target of a symbolic link, not the link
  const unlock = await lockManifest(target);
  try {
    const manifest = await readManifest(target);
    const { entries, publicKeys = manifest.publicKeys, result, beforeWrite } = await change(manifest);
    const bytes = await serializeManifest({ publicKeys, entries });
    const isSame = entries === manifest.entries && isDeepStrictEqual(publicKeys, manifest.publicKeys);
    await beforeWrite?.();
    if (!isSame) await writeDurably(target, bytes);
    return result;
  } finally {
    await unlock();
  }
}

/** Serializes a manifest. @throws PublishingError if the service would reject it */
export async function serializeManifest({
  publicKeys,
  entries,
}: Omit<EditableManifest, "releases">): Promise<Uint8Array> {
  const keys = Object.keys(publicKeys).length > 0 ? { publicKeys } : {};
  const bytes = Buffer.from(`${JSON.stringify({ schemaVersion: 1, ...keys, releases: entries }, null, 2)}\n`);
  if (bytes.byteLength > MAX_MANIFEST_BYTES)
    throw new PublishingError("The catalog would exceed the maximum size that the service reads.");
  await validateManifest(bytes).catch((error: Error) => {
    throw new PublishingError(error.message);
  });
  return bytes;
}

async function lockManifest(file: string): Promise<() => Promise<void>> {
  return lockFile(`${file}.lock`, MAX_LOCK_WAIT_MS).catch((error: unknown) => {
    if (!(error instanceof FileLockedError)) throw error;
    const holder = `Another process${error.pid ? ` (pid ${error.pid})` : ""}`;
    throw new PublishingError(`${holder} is changing ${file}: it holds the lock on ${error.file}. Try again later.`);
  });
}

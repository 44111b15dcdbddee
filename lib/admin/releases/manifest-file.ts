import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { makeFolder, writeDurably } from "../../files/durable";
import { FileLockedError, lockFile } from "../../files/lock";
import { validateManifest } from "../../releases/catalog/manifest";
import { MAX_MANIFEST_BYTES } from "../../releases/catalog/manifest-source";
import type { Release } from "../../releases/schema";
import type { PublicKeys } from "../../releases/signatures";

/** What somebody who publishes has to hear: a message, without a stack. */
export class PublishingError extends Error {
  override readonly name = "PublishingError";
}

/** A release as it stands in the manifest, unchecked. */
export type ManifestEntry = Record<string, unknown>;

/** A manifest, unchecked and checked: `entries` and `releases` go side by side. */
export type EditableManifest = {
  publicKeys: Readonly<Record<string, PublicKeys>>;
  entries: readonly ManifestEntry[];
  releases: readonly Release[];
};

/** What a change makes of a manifest. `beforeWrite` runs once that is known to be good. */
export type ManifestChange<T> = Pick<EditableManifest, "entries"> & {
  publicKeys?: EditableManifest["publicKeys"];
  result: T;
  beforeWrite?: () => Promise<void>;
};

const MAX_LOCK_WAIT_MS = 60_000;

/** Reads a manifest; one that is not there is empty. @throws PublishingError for one that the service refuses. */
export async function readManifest(file: string): Promise<EditableManifest> {
  try {
    const bytes = await readFile(file);
    const { publicKeys, releases } = await validateManifest(bytes);
    const document = JSON.parse(new TextDecoder().decode(bytes)); // a mark of byte order is fine
    return { publicKeys, entries: document.releases as ManifestEntry[], releases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new PublishingError(`${file} cannot be used as it is: ${(error as Error).message}`);
  }
}

const EMPTY: EditableManifest = { publicKeys: {}, entries: [], releases: [] };

/**
 * Changes a manifest while no other process does, and writes it whole or not at all. What the service would
 * refuse is never written, nor is what has not changed.
 * @throws PublishingError
 */
export async function changeManifest<T>(
  file: string,
  change: (manifest: EditableManifest) => ManifestChange<T> | Promise<ManifestChange<T>>,
): Promise<T> {
  await makeFolder(path.dirname(file));
  const target = await realpath(file).catch(() => file); // what a symbolic link names, not the link
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

/** A manifest as bytes. @throws PublishingError where the service would refuse it. */
export async function serializeManifest({
  publicKeys,
  entries,
}: Omit<EditableManifest, "releases">): Promise<Uint8Array> {
  const keys = Object.keys(publicKeys).length > 0 ? { publicKeys } : {};
  const bytes = Buffer.from(`${JSON.stringify({ schemaVersion: 1, ...keys, releases: entries }, null, 2)}\n`);
  if (bytes.byteLength > MAX_MANIFEST_BYTES)
    throw new PublishingError("The catalog would become larger than the service reads.");
  await validateManifest(bytes).catch((error: Error) => {
    throw new PublishingError(error.message);
  });
  return bytes;
}

async function lockManifest(file: string): Promise<() => Promise<void>> {
  return lockFile(`${file}.lock`, MAX_LOCK_WAIT_MS).catch((error: unknown) => {
    if (!(error instanceof FileLockedError)) throw error;
    const holder = `Another process${error.pid ? ` (pid ${error.pid})` : ""}`;
    throw new PublishingError(`${holder} is changing ${file}: it holds the lock on ${error.file}. Try again after it.`);
  });
}

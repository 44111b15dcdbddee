import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { makeFolder, writeDurably } from "../../files/durable";
import { FileLockedError, lockFile } from "../../files/lock";
import { checkManifest } from "../catalog/manifest";
import { MAX_BYTES } from "../catalog/source";
import type { Release } from "../schema";
import type { PublicKeys } from "../signatures";

/** What somebody who publishes has to hear: a message, without a stack. */
export class PublishingError extends Error {
  override readonly name = "PublishingError";
}

/** A release as it stands in the manifest, unchecked. */
export type Entry = Record<string, unknown>;

/** A manifest, unchecked and checked: `entries` and `releases` go side by side. */
export type Manifest = {
  publicKeys: Readonly<Record<string, PublicKeys>>;
  entries: readonly Entry[];
  releases: readonly Release[];
};

/** What a change makes of a manifest. `beforeWrite` runs once that is known to be good. */
export type Change<T> = Pick<Manifest, "entries"> & {
  publicKeys?: Manifest["publicKeys"];
  result: T;
  beforeWrite?: () => Promise<void>;
};

const MAX_LOCK_WAIT_MS = 60_000;

/** Reads a manifest; one that is not there is empty. @throws PublishingError for one that the service refuses. */
export async function readManifest(file: string): Promise<Manifest> {
  try {
    const bytes = await readFile(file);
    const { publicKeys, releases } = await checkManifest(bytes);
    const document = JSON.parse(new TextDecoder().decode(bytes)); // a mark of byte order is fine
    return { publicKeys, entries: document.releases as Entry[], releases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new PublishingError(`${file} cannot be used as it is: ${(error as Error).message}`);
  }
}

const EMPTY: Manifest = { publicKeys: {}, entries: [], releases: [] };

/**
 * Changes a manifest while no other process does, and writes it whole or not at all. What the service would
 * refuse is never written, nor is what has not changed.
 * @throws PublishingError
 */
export async function changeManifest<T>(
  file: string,
  change: (manifest: Manifest) => Change<T> | Promise<Change<T>>,
): Promise<T> {
  await makeFolder(path.dirname(file));
  const target = await realpath(file).catch(() => file); // what a symbolic link names, not the link
  const unlock = await lockManifest(target);
  try {
    const manifest = await readManifest(target);
    const { entries, publicKeys = manifest.publicKeys, result, beforeWrite } = await change(manifest);
    const bytes = await render({ publicKeys, entries });
    const isSame = entries === manifest.entries && isDeepStrictEqual(publicKeys, manifest.publicKeys);
    await beforeWrite?.();
    if (!isSame) await writeDurably(target, bytes);
    return result;
  } finally {
    await unlock();
  }
}

/** A manifest as bytes. @throws PublishingError where the service would refuse it. */
export async function render({ publicKeys, entries }: Omit<Manifest, "releases">): Promise<Uint8Array> {
  const keys = Object.keys(publicKeys).length > 0 ? { publicKeys } : {};
  const bytes = Buffer.from(`${JSON.stringify({ schemaVersion: 1, ...keys, releases: entries }, null, 2)}\n`);
  if (bytes.byteLength > MAX_BYTES)
    throw new PublishingError("The catalog would become larger than the service reads.");
  await checkManifest(bytes).catch((error: Error) => {
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

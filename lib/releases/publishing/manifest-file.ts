import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { lock } from "proper-lockfile";
import { makeFolder, writeDurably } from "../../files/durable";
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

/** A lock that was not renewed for this long belonged to a process that is gone. */
const STALE_MS = 10_000;
const RETRIES = { retries: 60, minTimeout: 100, maxTimeout: 1_000 };

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
  const held = await hold(target);
  try {
    const manifest = await readManifest(target);
    const { entries, publicKeys = manifest.publicKeys, result, beforeWrite } = await change(manifest);
    const bytes = await render({ publicKeys, entries });
    const isSame = entries === manifest.entries && isDeepStrictEqual(publicKeys, manifest.publicKeys);
    await beforeWrite?.();
    held.requireStill();
    if (!isSame) await writeDurably(target, bytes);
    return result;
  } finally {
    await held.release();
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

async function hold(file: string) {
  let lost: Error | undefined;
  const options = { realpath: false, stale: STALE_MS, update: 2_000, retries: RETRIES };
  const onCompromised = (error: Error) => {
    lost = error;
  };
  const release = await lock(file, { ...options, onCompromised }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOCKED") throw error;
    throw new PublishingError(`Somebody else is changing ${file}. Nothing was changed: try again.`);
  });
  return {
    requireStill: () => {
      if (lost) throw new PublishingError(`The lock on ${file} was lost: ${lost.message}. Nothing was changed.`);
    },
    release: () => (lost ? Promise.resolve() : release()),
  };
}

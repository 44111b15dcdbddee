import { mkdir, readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { lock } from "proper-lockfile";
import { checkManifest } from "../catalog/manifest";
import { MAX_BYTES } from "../catalog/source";
import { writeDurably } from "../durable-file";
import type { Release } from "../schema";

/** What somebody who publishes has to hear: a message, without a stack. */
export class PublishingError extends Error {
  override readonly name = "PublishingError";
}

/** A release as it stands in the manifest, with members that the service does not know. */
export type Entry = Record<string, unknown>;

/** A manifest, unchecked and checked: `entries` and `releases` go side by side. */
export type Manifest = { document: Record<string, unknown>; entries: readonly Entry[]; releases: readonly Release[] };

/** What a change makes of the entries. `beforeWrite` runs once they are known to be good. */
export type Change<T> = { entries: readonly Entry[]; result: T; beforeWrite?: () => Promise<void> };

/** A lock that was not renewed for this long belonged to a process that is gone. */
const STALE_MS = 10_000;
const RETRIES = { retries: 60, minTimeout: 100, maxTimeout: 1_000 };

/** Reads a manifest; one that is not there is empty. @throws PublishingError for one that the service refuses. */
export async function readManifest(file: string): Promise<Manifest> {
  try {
    const bytes = await readFile(file);
    const document = JSON.parse(new TextDecoder().decode(bytes)) as Manifest["document"]; // a mark of byte order is fine
    return { document, entries: document.releases as Entry[], releases: await checkManifest(bytes) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new PublishingError(`${file} cannot be used as it is: ${(error as Error).message}`);
  }
}

const EMPTY: Manifest = { document: { schemaVersion: 1 }, entries: [], releases: [] };

/**
 * Changes a manifest while no other process does, and writes it whole or not at all. What the service would
 * refuse is never written, nor is what has not changed.
 * @throws PublishingError
 */
export async function changeManifest<T>(
  file: string,
  change: (manifest: Manifest) => Change<T> | Promise<Change<T>>,
): Promise<T> {
  await mkdir(path.dirname(file), { recursive: true });
  const target = await realpath(file).catch(() => file); // what a symbolic link names, not the link
  const held = await hold(target);
  try {
    const manifest = await readManifest(target);
    const { entries, result, beforeWrite } = await change(manifest);
    const bytes = await render({ ...manifest, entries });
    await beforeWrite?.();
    held.requireStill();
    if (entries !== manifest.entries) await writeDurably(target, bytes);
    return result;
  } finally {
    await held.release();
  }
}

/** A manifest with other entries, as bytes. @throws PublishingError where the service would refuse it. */
export async function render({ document, entries }: Omit<Manifest, "releases">): Promise<Uint8Array> {
  const bytes = Buffer.from(`${JSON.stringify({ ...document, releases: entries }, null, 2)}\n`);
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

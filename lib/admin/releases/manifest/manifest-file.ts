import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../../config";
import { makeFolder, writeDurably } from "../../../files/durable";
import { FileLockedError, lockFile } from "../../../files/lock";
import { catalogFileOf } from "../../../releases/catalog/catalog";
import { validateManifest } from "../../../releases/catalog/manifest";
import { MAX_MANIFEST_BYTES } from "../../../releases/catalog/manifest-source";
import type { Release } from "../../../releases/schema";
import type { PublicKeys } from "../../../releases/signatures";
import { describeDiskError, PublishingError } from "./publishing-error";

/** A release in the manifest, unvalidated. */
export type ManifestEntry = Record<string, unknown>;

/** A manifest to edit. `releases` are the parsed `entries`, in the same order. */
export type EditableManifest = {
  publicKeys: Readonly<Record<string, PublicKeys>>;
  entries: readonly ManifestEntry[];
  releases: readonly Release[];
};

/**
 * The outcome of a change. `beforeWrite` runs once the new manifest has been validated, `afterWrite` once it is in use;
 * both hold the lock.
 */
type ManifestChange<T> = Pick<EditableManifest, "entries"> & {
  publicKeys?: EditableManifest["publicKeys"];
  result: T;
  beforeWrite?: () => Promise<void>;
  afterWrite?: () => Promise<unknown>;
};

type Change<T> = (manifest: EditableManifest) => ManifestChange<T> | Promise<ManifestChange<T>>;

/** Calls `write`, which writes the manifest unless it is unchanged, for example in a transaction that records `result`. */
export type AroundWrite<T> = (result: T, write: () => Promise<void>) => Promise<void>;

const MAX_LOCK_WAIT_MS = 60_000;

/**
 * The service's manifest: `RELEASE_CATALOG`, else `DATA_DIR/releases/catalog.json`.
 * @throws PublishingError catalog_not_editable if it is at a URL
 */
export function manifestFileOf(config: Pick<Config, "RELEASE_CATALOG" | "DATA_DIR">): string {
  const file = catalogFileOf(config);
  if (file !== null) return file;
  throw new PublishingError(
    "RELEASE_CATALOG is a URL: use --catalog to select the file that is published there.",
    "catalog_not_editable",
  );
}

/** Reads a manifest; a missing file is an empty one. @throws PublishingError if the service would reject it */
export async function readManifest(file: string): Promise<EditableManifest> {
  try {
    const bytes = await readFile(file);
    const { publicKeys, releases } = await validateManifest(bytes);
    const document = JSON.parse(new TextDecoder().decode(bytes)); // accepts a byte order mark
    return { publicKeys, entries: document.releases as ManifestEntry[], releases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new PublishingError(`${file} cannot be used: ${(error as Error).message}`, "catalog_invalid");
  }
}

const EMPTY: EditableManifest = { publicKeys: {}, entries: [], releases: [] };

/**
 * Changes a manifest under a lock, and writes it atomically. Writes nothing if the service would reject the new manifest,
 * or if nothing has changed.
 * @throws PublishingError
 */
export async function changeManifest<T>(file: string, change: Change<T>, aroundWrite?: AroundWrite<T>): Promise<T> {
  const folder = path.dirname(file);
  try {
    await makeFolder(folder);
    const target = await realpath(file).catch(() => file); // replaces the target of a symbolic link, not the link
    return await changeLocked(target, change, aroundWrite);
  } catch (error) {
    throw describeDiskError(error, folder);
  }
}

async function changeLocked<T>(target: string, change: Change<T>, aroundWrite?: AroundWrite<T>): Promise<T> {
  const unlock = await lockManifest(target);
  try {
    const manifest = await readManifest(target);
    const { entries, publicKeys = manifest.publicKeys, result, beforeWrite, afterWrite } = await change(manifest);
    const bytes = await serializeManifest({ publicKeys, entries });
    const isSame = entries === manifest.entries && isDeepStrictEqual(publicKeys, manifest.publicKeys);
    const write = async () => {
      if (!isSame) await writeDurably(target, bytes);
    };
    await beforeWrite?.();
    await (aroundWrite ? aroundWrite(result, write) : write());
    await afterWrite?.();
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
    throw new PublishingError(
      `${holder} is changing ${file}: it holds the lock on ${error.file}. Try again later.`,
      "catalog_locked",
    );
  });
}

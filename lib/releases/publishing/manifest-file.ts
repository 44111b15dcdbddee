import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../errors";
import { fieldMessage } from "../../platform/field-message";
import { makeFolder, writeDurably } from "../../platform/files/durable";
import { FileLockedError, lockFile } from "../../platform/files/lock";
import { isNoSpace } from "../../platform/files/no-space";
import type { ReleaseReader } from "../access";
import { validateManifest } from "../catalog/manifest";
import { MAX_MANIFEST_BYTES } from "../catalog/manifest-source";
import { formatVersion, Release } from "../schema";
import type { PublicKeys } from "../signatures";
import { invalidRelease } from "./invalid-release";
import {
  type ChangeRecord,
  finishInterruptedWrites,
  listStagedWrites,
  recordUnwritten,
  writeRecorded,
} from "./recorded-write";

/** A release in the manifest, unvalidated. */
export type ManifestEntry = Record<string, unknown>;

/** A manifest to edit. `releases` are the parsed `entries`, in the same order. */
export type EditableManifest = {
  publicKeys: Readonly<Record<string, PublicKeys>>;
  entries: readonly ManifestEntry[];
  releases: readonly Release[];
};

/** A change. `beforeWrite` runs when the new manifest is validated, `afterWrite` when it is in use, with the lock. */
type ManifestChange<T> = Pick<EditableManifest, "entries"> & {
  publicKeys?: EditableManifest["publicKeys"];
  result: T;
  beforeWrite?: () => Promise<void>;
  afterWrite?: () => Promise<unknown>;
};

export type Change<T> = (manifest: EditableManifest) => ManifestChange<T> | Promise<ManifestChange<T>>;

const MAX_LOCK_WAIT_MS = 60_000;

/** Reads a manifest; a missing file is an empty one. @throws AppError if the service would reject it */
export async function readManifest(file: string): Promise<EditableManifest> {
  try {
    const bytes = await readFile(file);
    const { publicKeys, releases } = await validateManifest(bytes);
    const document = JSON.parse(new TextDecoder().decode(bytes)); // accepts a byte order mark
    return { publicKeys, entries: document.releases as ManifestEntry[], releases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new AppError("catalog_invalid", `${file} cannot be used: ${(error as Error).message}`);
  }
}

const EMPTY: EditableManifest = { publicKeys: {}, entries: [], releases: [] };

/**
 * Changes a manifest under a lock, atomically, if it changes and stays valid. The service's own catalog is changed with
 * a `record` only: see `writeRecorded`. @throws AppError; what `record` throws, and then nothing has changed
 */
export async function changeManifest<T>(file: string, change: Change<T>, record?: ChangeRecord<T>): Promise<T> {
  return withManifestLock(file, async (target) => {
    if (record) await finishInterruptedWrites(record.deps, target);
    else await assertNotInterrupted(target);
    const before = await readManifest(target);
    const { entries, publicKeys = before.publicKeys, result, beforeWrite, afterWrite } = await change(before);
    const bytes = await serializeManifest({ publicKeys, entries });
    const isSame = entries === before.entries && isDeepStrictEqual(publicKeys, before.publicKeys);
    await beforeWrite?.();
    if (record && isSame) await recordUnwritten(record, result, before);
    else if (record) await writeRecorded(target, bytes, { ...record, result, before });
    else if (!isSame) await writeDurably(target, bytes);
    await afterWrite?.();
    return result;
  });
}

/** Completes or discards what a crash has left of a change of the service's catalog. Returns whether there was anything. */
export async function finishInterruptedChange(deps: ChangeRecord<unknown>["deps"], file: string): Promise<boolean> {
  const target = await realpath(file).catch(() => file);
  if ((await listStagedWrites(target)).length === 0) return false;
  await withManifestLock(file, (locked) => finishInterruptedWrites(deps, locked));
  return true;
}

async function withManifestLock<T>(file: string, run: (target: string) => Promise<T>): Promise<T> {
  const folder = path.dirname(file);
  try {
    await makeFolder(folder);
    const target = await realpath(file).catch(() => file); // replaces the target of a symbolic link, not the link
    const unlock = await lockManifest(target);
    try {
      return await run(target);
    } finally {
      await unlock();
    }
  } catch (error) {
    throw describeDiskError(error, folder);
  }
}

/** Without the database nobody can tell whether an interrupted change counts. @throws AppError */
async function assertNotInterrupted(target: string): Promise<void> {
  if ((await listStagedWrites(target)).length === 0) return;
  const message = `A change of ${target} was interrupted: start the service, which completes it.`;
  throw new AppError("catalog_locked", message);
}

/** Serializes a manifest. @throws AppError if the service would reject it */
export async function serializeManifest({
  publicKeys,
  entries,
}: Omit<EditableManifest, "releases">): Promise<Uint8Array> {
  const keys = Object.keys(publicKeys).length > 0 ? { publicKeys } : {};
  const bytes = Buffer.from(`${JSON.stringify({ schemaVersion: 1, ...keys, releases: entries }, null, 2)}\n`);
  if (bytes.byteLength > MAX_MANIFEST_BYTES)
    throw invalidRelease("The catalog would exceed the maximum size that the service reads.");
  await validateManifest(bytes).catch((error: Error) => {
    throw invalidRelease(error.message);
  });
  return bytes;
}

/** What all releases of a caller of some products may take of a manifest, so that others can publish, too. */
const MAX_LIMITED_BYTES = MAX_MANIFEST_BYTES / 2;

/** A plan of a change that keeps the releases of a caller of some products from filling the manifest. @throws AppError */
export function limitGrowth<Plan extends Pick<EditableManifest, "entries">>(
  { releaseAccess: access }: ReleaseReader,
  plan: (manifest: EditableManifest) => Plan,
): (manifest: EditableManifest) => Plan {
  if (!access) return plan;
  const sizeOf = (entries: readonly ManifestEntry[]) =>
    entries
      .filter(({ product }) => access.products.includes(String(product)))
      .reduce((total, entry) => total + Buffer.byteLength(JSON.stringify(entry, null, 2)), 0);
  return (manifest) => {
    const planned = plan(manifest);
    const size = sizeOf(planned.entries);
    if (size <= MAX_LIMITED_BYTES || size <= sizeOf(manifest.entries)) return planned;
    throw invalidRelease(`The releases of ${access.products.join(", ")} would fill the catalog: remove old ones.`);
  };
}

async function lockManifest(file: string): Promise<() => Promise<void>> {
  return lockFile(`${file}.lock`, MAX_LOCK_WAIT_MS).catch((error: unknown) => {
    if (!(error instanceof FileLockedError)) throw error;
    const holder = `Another process${error.pid ? ` (pid ${error.pid})` : ""}`;
    throw new AppError(
      "catalog_locked",
      `${holder} is changing ${file}: it holds the lock on ${error.file}. Try again later.`,
    );
  });
}

/** Describes a full disk to the operator. Returns any other error as it is. */
export function describeDiskError(error: unknown, folder: string): unknown {
  if (!isNoSpace(error)) return error;
  const reason = (error as NodeJS.ErrnoException).code === "ENOSPC" ? "The disk is full" : "The disk quota is used up";
  return new AppError("disk_full", `${reason}: ${folder} has no space left. The catalog was not changed.`);
}

/** Parses an entry of a manifest. @throws AppError that names the fields that the service would reject */
export function parseRelease(entry: ManifestEntry): Release {
  const parsed = Release.safeParse(entry, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `  - ${path.join(".")}: ${message}`);
  throw invalidRelease(`The release is not valid:\n${issues.join("\n")}`);
}

/** What identifies a release: no two releases of a catalog have the same. */
export function identityOf({ product, platform, architecture, channel, version }: Release) {
  return { product, platform, architecture, channel, version: formatVersion(version) };
}

/** Makes an id that no other release has. @throws AppError if the names are too long for one */
export function makeReleaseId(releases: readonly Release[], release: Release): string {
  const { product, platform, architecture, channel, version } = identityOf(release);
  const plain = `${product}-${platform}-${architecture}-${version}`;
  const taken = new Set(releases.map((other) => other.id));
  const numbered = Array.from(taken, (_, i) => `${plain}-${channel}-${i + 2}`);
  const id = [plain, `${plain}-${channel}`, ...numbered].find((one) => one.length <= 128 && !taken.has(one));
  if (id === undefined) throw invalidRelease("No id can be generated for this release: set one with --id.");
  return id;
}

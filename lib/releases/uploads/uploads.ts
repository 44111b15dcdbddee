import { type FileHandle, open, readdir, readFile, realpath, rm, stat, statfs } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import type { Config } from "../../platform/config";
import { isUuid, newId } from "../../platform/db/ids";
import { ifMissing, makeFolder, removeOldFiles, writeDurably } from "../../platform/files/durable";
import { FileLockedError, lockFile } from "../../platform/files/lock";
import { exceedsShare, type ReleaseReader } from "../access";
import { catalogFileOf } from "../catalog/catalog";
import { removeStaleParts } from "../publishing/files/build-file";
import { readCatalog } from "../publishing/service-catalog";

const MAX_UPLOADS = 1_000;
/** Of a key or publisher of some products: the rest is for others. */
const MAX_LIMITED_UPLOADS = 100;
/** Left free for the embedded database, which stops accepting writes when the disk is almost full. */
const MIN_FREE_BYTES = 128 * 2 ** 20;

/** How long an upload is kept after its last byte has arrived. */
const RETENTION_MS = 24 * 60 * 60 * 1000;

const expiryOf = (writtenMs: number): Date => new Date(writtenMs + RETENTION_MS);

/** What is stored of an upload beside its bytes. `metadata` is as its client sent it. */
const Info = z.object({
  owner: z.string(),
  sizeBytes: z.number(),
  fileName: z.string().nullable(),
  metadata: z.string().nullable(),
});
type UploadInfo = z.infer<typeof Info>;

/** A file that arrives in parts. `offsetBytes` of its `sizeBytes` have arrived. */
export type Upload = UploadInfo & { id: string; file: string; offsetBytes: number; expiresAt: Date };

type UploadDeps = { config: Pick<Config, "DATA_DIR" | "RELEASE_CATALOG" | "RELEASE_UPLOAD_MAX_BYTES"> };

/**
 * Creates an upload for a file of a known size.
 * @throws AppError payload_too_large, disk_full, upload_limit_reached, catalog_not_editable; those of `readCatalog`
 */
export async function createUpload(
  deps: UploadDeps & Pick<Context, "config" | "rollouts">,
  reader: ReleaseReader,
  info: UploadInfo,
): Promise<Upload> {
  const folder = await uploadFolder(deps);
  const limitBytes = deps.config.RELEASE_UPLOAD_MAX_BYTES;
  if (info.sizeBytes > limitBytes) {
    throw new AppError("payload_too_large", { detail: `At most ${limitBytes} bytes.`, fields: { limitBytes } });
  }
  if ((await listUploadIds(folder)).length >= MAX_UPLOADS) throw new AppError("upload_limit_reached");
  const created = await createUploadFiles(folder, newId(), info);
  try {
    await requireSpace(folder, info.sizeBytes);
    await requireShare(deps, reader, created);
  } catch (error) {
    await removeUploadFiles(folder, created.id);
    throw error;
  }
  return created;
}

/** Keeps a caller of some products from taking the room of others. Counts the new upload, and those created meanwhile. */
async function requireShare(
  deps: UploadDeps & Pick<Context, "config" | "rollouts">,
  { releaseAccess: access }: ReleaseReader,
  { owner, file }: Upload,
): Promise<void> {
  if (!access) return;
  const open = await listUploads(deps, owner);
  if (open.length > MAX_LIMITED_UPLOADS) throw new AppError("upload_limit_reached");
  const { bavail, bsize } = await statfs(path.dirname(file));
  const bytes = { freeBytes: bavail * bsize, uploads: open };
  if (!exceedsShare(access, await readCatalog(deps), bytes)) return;
  const detail = `Little space is left, and ${access.products.join(", ")} would take more than its share: remove old releases.`;
  throw new AppError("disk_full", { detail });
}

/** Finds an upload of an owner. Another's upload is not found. @throws AppError upload_not_found, catalog_not_editable */
export async function findUpload(deps: UploadDeps, owner: string, id: string): Promise<Upload> {
  return requireOwner(await readUpload(await uploadFolder(deps), id), owner);
}

/** The uploads of an owner, the oldest first. @throws AppError catalog_not_editable */
export async function listUploads(deps: UploadDeps, owner: string): Promise<Upload[]> {
  const folder = await uploadFolder(deps);
  const uploads: Upload[] = [];
  for (const id of (await listUploadIds(folder)).sort()) {
    const upload = await readUpload(folder, id).catch((error: unknown) => {
      if (isAppError(error)) return null; // it was published or removed meanwhile
      throw error;
    });
    if (upload?.owner === owner) uploads.push(upload);
  }
  return uploads;
}

/**
 * Appends bytes to an upload. What has arrived is kept: the next response says how much.
 * @throws AppError upload_locked while another request writes; upload_offset_mismatch, payload_too_large, disk_full;
 *   request_timeout if no byte arrives for a while; malformed_request if the client disconnects
 */
export async function appendToUpload(deps: UploadDeps, owner: string, id: string, input: AppendInput): Promise<Upload> {
  const folder = await uploadFolder(deps);
  requireOwner(await readUpload(folder, id), owner);
  return withUploadLock(folder, id, async () => {
    const upload = await readUpload(folder, id);
    if (input.offsetBytes === upload.offsetBytes) await requireSpace(folder, upload.sizeBytes - upload.offsetBytes);
    await appendBytes(upload, input);
    return readUpload(folder, id);
  });
}

/** Deletes an upload. @throws AppError upload_not_found, upload_locked, catalog_not_editable */
export async function removeUpload(deps: UploadDeps, owner: string, id: string): Promise<void> {
  const folder = await uploadFolder(deps);
  requireOwner(await readUpload(folder, id), owner);
  await withUploadLock(folder, id, () => removeUploadFiles(folder, id));
}

/**
 * Runs `use` with complete, locked uploads, by their ids, and deletes them when it succeeds.
 * @throws AppError upload_locked, upload_incomplete, upload_not_found, catalog_not_editable
 */
export async function consumeUploads<T>(
  deps: UploadDeps,
  owner: string,
  ids: readonly string[],
  use: (uploads: ReadonlyMap<string, Upload>) => Promise<T>,
): Promise<T> {
  const folder = await uploadFolder(deps);
  const uploads = new Map<string, Upload>();
  const lockRest = async ([id, ...rest]: string[]): Promise<T> => {
    if (id === undefined) return use(uploads);
    requireOwner(await readUpload(folder, id), owner);
    return withUploadLock(folder, id, async () => {
      const upload = await readUpload(folder, id);
      if (upload.offsetBytes < upload.sizeBytes) {
        const detail = `${upload.offsetBytes} of ${upload.sizeBytes} bytes of the upload ${id} have arrived.`;
        throw new AppError("upload_incomplete", { detail, fields: { uploadId: id } });
      }
      uploads.set(id, upload);
      const result = await lockRest(rest);
      await removeUploadFiles(folder, id);
      return result;
    });
  };
  return lockRest([...new Set(ids)].sort());
}

/** Deletes the uploads to which nothing was added for a day, and what an interrupted publication left. Returns how many uploads. */
export async function removeExpiredUploads(deps: UploadDeps & { now: () => Date }): Promise<number> {
  const catalogFile = catalogFileOf(deps.config);
  if (catalogFile === null) return 0;
  await removeStaleParts(path.dirname(catalogFile));
  const folder = await uploadFolder(deps);
  await removeOldFiles(folder, /\.json\.tmp$/);
  let removed = 0;
  const isExpired = async (id: string) => {
    const writtenAt = await lastWrittenAt(folder, id);
    return writtenAt !== null && expiryOf(writtenAt.getTime()) < deps.now();
  };
  for (const id of await listUploadIds(folder)) {
    if (!(await isExpired(id))) continue;
    await withUploadLock(folder, id, async () => {
      if (!(await isExpired(id))) return; // bytes have arrived meanwhile
      await removeUploadFiles(folder, id);
      removed += 1;
    }).catch(() => {}); // it is in use
  }
  return removed;
}

function requireOwner(upload: Upload, owner: string): Upload {
  if (upload.owner !== owner) throw new AppError("upload_not_found");
  return upload;
}

async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes + MIN_FREE_BYTES) throw new AppError("disk_full");
}

/** How long a client may send nothing. It may then continue with another request. */
const STALL_TIMEOUT_MS = 20_000;

/** Bytes that follow the first `offsetBytes` of an upload. `lengthBytes` is their number, if the client has said it. */
export type AppendInput = {
  offsetBytes: number;
  lengthBytes: number | null;
  bytes: AsyncIterable<Uint8Array>;
  stallTimeoutMs?: number;
};

/**
 * Appends bytes to an upload's file, and syncs it. On an error, what has arrived before it stays.
 * @throws AppError upload_offset_mismatch, payload_too_large, request_timeout, malformed_request; the file system's
 *   errors
 */
async function appendBytes(
  { file, offsetBytes, sizeBytes }: Upload,
  { offsetBytes: given, lengthBytes, bytes, stallTimeoutMs = STALL_TIMEOUT_MS }: AppendInput,
): Promise<void> {
  if (given !== offsetBytes) {
    throw new AppError("upload_offset_mismatch", { fields: { offsetBytes }, detail: `The offset is ${offsetBytes}.` });
  }
  const limitBytes = sizeBytes - offsetBytes;
  const tooLarge = () =>
    new AppError("payload_too_large", { detail: `At most ${limitBytes} bytes.`, fields: { limitBytes } });
  if (lengthBytes !== null && lengthBytes > limitBytes) throw tooLarge();
  const handle = await open(file, "r+");
  try {
    let end = offsetBytes;
    for await (const chunk of arriving(bytes, stallTimeoutMs)) {
      const fitting = chunk.subarray(0, sizeBytes - end);
      await writeAll(handle, fitting, end);
      end += fitting.byteLength;
      if (fitting.byteLength < chunk.byteLength) throw tooLarge();
    }
  } finally {
    await handle.datasync().finally(() => handle.close());
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, position + done);
    done += bytesWritten;
  }
}

async function* arriving(bytes: AsyncIterable<Uint8Array>, stallTimeoutMs: number): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await withTimeout(iterator.next(), stallTimeoutMs).catch((error: unknown) => {
        if (error instanceof AppError) throw error;
        throw new AppError("malformed_request", { detail: "The body ended early.", cause: error });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a client that sends nothing would be waited for.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError("request_timeout")), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** The folder of uploads, beside the catalog: publishing needs no second copy. @throws AppError catalog_not_editable */
async function uploadFolder({ config }: UploadDeps): Promise<string> {
  const file = catalogFileOf(config);
  if (file === null) throw new AppError("catalog_not_editable");
  const folder = path.join(path.dirname(file), ".uploads");
  return realpath(folder).catch(() => folder);
}

const bytesFile = (folder: string, id: string) => path.join(folder, `${id}.part`);
const infoFile = (folder: string, id: string) => path.join(folder, `${id}.json`);

/** Creates an empty upload. Its description is written last: without one there is no upload. */
async function createUploadFiles(folder: string, id: string, info: UploadInfo): Promise<Upload> {
  await makeFolder(path.dirname(folder));
  await makeFolder(folder, 0o700);
  await (await open(bytesFile(folder, id), "wx")).close();
  await writeDurably(infoFile(folder, id), JSON.stringify(info));
  return readUpload(folder, id);
}

/** Reads an upload. The size of its file is the offset, after a crash too. @throws AppError upload_not_found */
async function readUpload(folder: string, id: string): Promise<Upload> {
  try {
    if (!isUuid(id)) throw new AppError("upload_not_found");
    const info = Info.parse(JSON.parse(await readFile(infoFile(folder, id), "utf8")));
    const file = bytesFile(folder, id);
    const { size, mtimeMs } = await stat(file);
    return { ...info, id, file, offsetBytes: size, expiresAt: expiryOf(mtimeMs) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new AppError("upload_not_found", { cause: error });
    throw error;
  }
}

async function removeUploadFiles(folder: string, id: string): Promise<void> {
  await rm(infoFile(folder, id), { force: true });
  await rm(bytesFile(folder, id), { force: true });
}

/** Runs `run` with the kernel's lock on an upload, which a killed process releases. @throws AppError upload_locked */
async function withUploadLock<T>(folder: string, id: string, run: () => Promise<T>): Promise<T> {
  const unlock = await lockFile(path.join(folder, `${id}.lock`)).catch((error: unknown) => {
    throw error instanceof FileLockedError ? new AppError("upload_locked", { cause: error }) : error;
  });
  try {
    return await run();
  } finally {
    await unlock();
  }
}

/** The ids of all uploads, including those of which a killed process left only one file. */
async function listUploadIds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(ifMissing([]));
  return [...new Set(names.map((name) => path.parse(name).name))].filter(isUuid);
}

/** When an upload was last written. null: it is gone. */
async function lastWrittenAt(folder: string, id: string): Promise<Date | null> {
  for (const file of [bytesFile(folder, id), infoFile(folder, id), path.join(folder, `${id}.lock`)]) {
    const stats = await stat(/* turbopackIgnore: true */ file).catch(() => null);
    if (stats) return stats.mtime;
  }
  return null;
}

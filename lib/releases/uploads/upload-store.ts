import { mkdir, open, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { isUuid } from "../../platform/db/ids";
import { ifMissing, makeFolder, writeDurably } from "../../platform/files/durable";
import { FileLockedError, lockFile } from "../../platform/files/lock";
import { catalogFileOf } from "../catalog/catalog";

/** How long an upload is kept after its last byte has arrived. */
const RETENTION_MS = 24 * 60 * 60 * 1000;

/** When an upload expires that was last written at `writtenMs`. */
export const expiryOf = (writtenMs: number): Date => new Date(writtenMs + RETENTION_MS);

/** What is stored of an upload beside its bytes. `metadata` is as its client sent it. */
const Info = z.object({
  owner: z.string(),
  sizeBytes: z.number(),
  fileName: z.string().nullable(),
  metadata: z.string().nullable(),
});
export type UploadInfo = z.infer<typeof Info>;

/** A file that arrives in parts. `offsetBytes` of its `sizeBytes` have arrived. */
export type Upload = UploadInfo & { id: string; file: string; offsetBytes: number; expiresAt: Date };

export type UploadDeps = { config: Pick<Config, "DATA_DIR" | "RELEASE_CATALOG" | "RELEASE_UPLOAD_MAX_BYTES"> };

/** The folder of uploads, beside the catalog: publishing needs no second copy. @throws AppError catalog_not_editable */
export async function uploadFolder({ config }: UploadDeps): Promise<string> {
  const file = catalogFileOf(config);
  if (file === null) throw new AppError("catalog_not_editable");
  const folder = path.join(path.dirname(file), ".uploads");
  return realpath(folder).catch(() => folder);
}

const bytesFile = (folder: string, id: string) => path.join(folder, `${id}.part`);
const infoFile = (folder: string, id: string) => path.join(folder, `${id}.json`);

/** Creates an empty upload. Its description is written last: without one there is no upload. */
export async function createUploadFiles(folder: string, id: string, info: UploadInfo): Promise<Upload> {
  await makeFolder(path.dirname(folder));
  await mkdir(folder, { mode: 0o700, recursive: true });
  await (await open(bytesFile(folder, id), "wx")).close();
  await writeDurably(infoFile(folder, id), JSON.stringify(info));
  return readUpload(folder, id);
}

/** Reads an upload. The size of its file is the offset, after a crash too. @throws AppError upload_not_found */
export async function readUpload(folder: string, id: string): Promise<Upload> {
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

export async function removeUploadFiles(folder: string, id: string): Promise<void> {
  await rm(infoFile(folder, id), { force: true });
  await rm(bytesFile(folder, id), { force: true });
}

/** Runs `run` with the kernel's lock on an upload, which a killed process releases. @throws AppError upload_locked */
export async function withUploadLock<T>(folder: string, id: string, run: () => Promise<T>): Promise<T> {
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
export async function listUploadIds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(ifMissing([]));
  return [...new Set(names.map((name) => path.parse(name).name))].filter(isUuid);
}

/** When an upload was last written. null: it is gone. */
export async function lastWrittenAt(folder: string, id: string): Promise<Date | null> {
  for (const file of [bytesFile(folder, id), infoFile(folder, id), path.join(folder, `${id}.lock`)]) {
    const stats = await stat(/* turbopackIgnore: true */ file).catch(() => null);
    if (stats) return stats.mtime;
  }
  return null;
}

import { createReadStream, type ReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import type { CopySnapshot } from "../db/copy";
import { appliedMigrations } from "../db/copy";
import { newId } from "../db/ids";
import { readSecretsText } from "../embedded-secrets";
import { makeFolder, removeOldFiles, writeChunks } from "../files/durable";
import { isNoSpace } from "../files/no-space";
import { encode } from "./encoding";
import { writeBackup } from "./format";
import { backupName } from "./names";
import { COPIES, openStore, PARTIAL, PARTIALS } from "./store";

type Deps = Pick<Context, "config" | "database" | "db" | "log" | "now">;

/** How long records are kept. They are deleted only after a successful backup, so the last success stays known. */
const RECORD_RETENTION_MS = 100 * 24 * 60 * 60 * 1000;

/** How long writes to the embedded database may wait for a backup. */
const MAX_PAUSE_MS = 10_000;
const pausedTooLong = (maxPauseMs: number) =>
  `Copying the embedded database made writes wait for more than ${maxPauseMs / 1000} seconds. Move to PostgreSQL, or back up a snapshot of the disk.`;

/** The databases that this process is backing up. */
const running = new WeakSet<Deps["database"]>();

export const isBackingUp = ({ database }: Pick<Deps, "database">): boolean => running.has(database);

/** Records who makes a file, before it has its name: if this fails, the file is removed. */
type RecordFile = (file: string, sizeBytes: number) => Promise<void>;

type Options = { id?: string; maxPauseMs?: number; recordFile?: RecordFile };

/**
 * Backs up the database and its secrets to a folder or an S3 bucket, and records the outcome. `id` is a record that exists.
 * Writes to the embedded database wait while it is read, for `maxPauseMs` at most.
 * @throws AppError backup_in_progress, backup_not_configured, backup_failed, disk_full; what `recordFile` throws
 */
export function createBackup(deps: Deps, to: string, options: Options = {}) {
  return oneAtATime(deps, () => createRecorded(deps, to, options));
}

/**
 * Writes what a backup has to a file in the data folder, not encrypted and without a record, for an export, which removes it.
 * @throws AppError backup_in_progress, backup_failed, disk_full; what `recordFile` throws
 */
export function copyForExport(deps: Deps, options: Omit<Options, "id">) {
  const config = { ...deps.config, BACKUP_RECIPIENT: undefined };
  const folder = path.resolve(/* turbopackIgnore: true */ config.DATA_DIR, "export");
  const copy = async () => {
    await makeFolder(folder, 0o700);
    await removeOldFiles(folder, COPIES); // of exports that were killed
    const copied = await write({ ...deps, config }, folder, deps.now(), options);
    return { ...copied, file: path.join(folder, copied.file) };
  };
  return oneAtATime(deps, () => copy().catch((error) => Promise.reject(toAppError(error))));
}

async function oneAtATime<T>({ database }: Pick<Deps, "database">, run: () => Promise<T>): Promise<T> {
  if (running.has(database)) throw new AppError("backup_in_progress");
  running.add(database);
  try {
    return await run();
  } finally {
    running.delete(database);
  }
}

async function createRecorded(deps: Deps, to: string, { id, ...options }: Options) {
  const { db, log, now } = deps;
  const startedAt = now();
  const record = id ?? newId(startedAt);
  try {
    if (id === undefined) await db.backup.create({ data: { id: record, startedAt } });
    const created = await write(deps, to, startedAt, options);
    const { file, sizeBytes } = created;
    await db.backup.update({ where: { id: record }, data: { endedAt: now(), file, sizeBytes } });
    await db.backup.deleteMany({ where: { startedAt: { lt: new Date(now().getTime() - RECORD_RETENTION_MS) } } });
    log.info({ to, ...created }, "backed up");
    return created;
  } catch (error) {
    const failure = toAppError(error);
    log.error({ err: error, to }, "the backup failed");
    const data = { endedAt: now(), error: failure.extras.detail ?? failure.message };
    await db.backup.update({ where: { id: record }, data }).catch(() => {}); // the database may have failed
    throw failure;
  }
}

async function write(
  { config, database, now }: Deps,
  to: string,
  createdAt: Date,
  { maxPauseMs = MAX_PAUSE_MS, recordFile = async () => {} }: Options,
) {
  const store = openStore(config, to);
  const file = backupName(createdAt);
  const storeFile = (chunks: Chunks) => store.write(file, recorded(chunks, file, recordFile));
  const snapshot = await database.openSnapshot();
  try {
    const secrets = config.mode === "embedded" ? await readSecretsText(config.DATA_DIR) : null;
    const migrations = await appliedMigrations(snapshot);
    const header = { version: config.build.version, createdAt: createdAt.toISOString(), migrations, secrets };
    const rows = writeBackup(snapshot, header);
    const plain = config.mode === "embedded" ? within(maxPauseMs, rows, snapshot) : closing(rows, snapshot);
    const chunks = encode(plain, config.BACKUP_RECIPIENT);
    const isSpooled = config.mode === "embedded" && store.isRemote; // a slow storage would make writes wait
    const sizeBytes = await (isSpooled ? spool(config.DATA_DIR, file, chunks, storeFile) : storeFile(chunks));
    const seconds = (now().getTime() - createdAt.getTime()) / 1000;
    return { file, sizeBytes, isEncrypted: config.BACKUP_RECIPIENT !== undefined, createdAt, seconds };
  } finally {
    await snapshot.close();
  }
}

type Chunks = AsyncIterable<Uint8Array>;

/** Writes the chunks to a file in the data folder, and stores that file. */
async function spool(folder: string, name: string, chunks: Chunks, storeFile: (chunks: Chunks) => Promise<number>) {
  await removeOldFiles(folder, PARTIALS);
  const file = path.join(folder, `${name}${PARTIAL}`);
  let spooled: ReadStream | undefined;
  try {
    await writeChunks(file, chunks, 0o600);
    spooled = createReadStream(file);
    return await storeFile(spooled);
  } finally {
    spooled?.destroy(); // a storage that refuses the upload reads nothing
    await rm(file, { force: true });
  }
}

/** Records the file after its last chunk. The store gives it its name only then. */
async function* recorded(chunks: Chunks, file: string, recordFile: RecordFile) {
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    sizeBytes += chunk.byteLength;
  }
  await recordFile(file, sizeBytes);
}

/**
 * Closes the snapshot after the last row, or after `maxPauseMs`, even if nobody reads on.
 * @throws AppError backup_failed after that time
 */
async function* within(maxPauseMs: number, chunks: AsyncIterable<Buffer>, snapshot: CopySnapshot) {
  let isOver = false;
  const end = () => {
    isOver = true;
    void snapshot.close();
  };
  const timer = setTimeout(end, maxPauseMs);
  try {
    for await (const chunk of closing(chunks, snapshot)) {
      if (isOver) throw new AppError("backup_failed", { detail: pausedTooLong(maxPauseMs) });
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Closes the snapshot after the last row, so that writes continue while the file is completed. */
async function* closing(chunks: AsyncIterable<Buffer>, snapshot: CopySnapshot): AsyncIterable<Buffer> {
  yield* chunks;
  await snapshot.close();
}

function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error;
  if (isNoSpace(error)) return new AppError("disk_full", { cause: error });
  return new AppError("backup_failed", { detail: (error as Error).message, cause: error });
}

import { rm, stat } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { DriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { makeFolder, moveDurably, syncTree } from "../../files/durable";
import { FileLockedError, lockFile } from "../../files/lock";
import { type Around, embeddedAdapter } from "./adapter";
import { EmbeddedFS } from "./embedded-fs";
import { watchFreeSpace } from "./free-space";
import { migrateEmbedded } from "./migrate";
import { WalFlush } from "./wal-flush";

/** PostgreSQL's default of 128 MB of buffers would be most of the process's memory, and gains nothing here. */
const SETTINGS = ["-c", "shared_buffers=16MB"];
/** PGlite begins with -F, which turns fsync off. A flush by any other method than fsync does not reach its files. */
const SYNCED = PGlite.defaultStartParams.filter((param) => param !== "-F").concat("-c", "wal_sync_method=fsync");
/** PGlite has no checkpointer: without a checkpoint the log would grow until the next start, and be read by it. */
const SEGMENTS_PER_CHECKPOINT = 4;

/** The data folder is in use by another process. */
class DataDirInUseError extends Error {
  override readonly name = "DataDirInUseError";
}

export type EmbeddedHooks = {
  /** Must end the process: nobody knows what state the database is in, and the next start recovers it. */
  onFatal: (error: Error) => never;
  /** There is too little room on the disk to write (`isFull`), or enough again. */
  onStorage: (isFull: boolean, freeBytes: number) => void;
};

export type Embedded = {
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Whether writes are refused for want of room on the disk. */
  isStorageFull: () => boolean;
  /** Applies the migrations that are missing. Returns their names. */
  migrate: () => Promise<string[]>;
  close: () => Promise<void>;
};

/**
 * Opens PGlite in `dataDir/db`, under a lock on `dataDir/db.lock`: PGlite itself lets a second process in, and two
 * processes corrupt each other's files. With `sync` what a statement changed is on the disk before it resolves.
 * @throws DataDirInUseError where another process holds the folder.
 */
export async function openEmbedded(dataDir: string, sync: boolean, given: Partial<EmbeddedHooks>): Promise<Embedded> {
  const hooks = { onFatal: endProcess, onStorage: () => {}, ...given };
  await makeFolder(dataDir, 0o700);
  const folder = path.join(dataDir, "db");
  const unlock = await lockFolder(folder);
  try {
    await createOnce(folder);
    return await open(folder, sync, hooks, unlock);
  } catch (error) {
    await unlock();
    throw new Error(`The embedded database in ${folder} cannot be opened: ${(error as Error).message ?? error}`);
  }
}

function endProcess(error: Error): never {
  process.stderr.write(`The embedded database cannot go on: ${error.message}\n`);
  process.exit(1);
}

async function lockFolder(folder: string): Promise<() => Promise<void>> {
  return lockFile(`${folder}.lock`).catch((error: unknown) => {
    if (!(error instanceof FileLockedError)) throw error;
    throw new DataDirInUseError(
      `Another process${error.pid ? ` (pid ${error.pid})` : ""} is using ${folder}: it holds the lock on ${error.file}. ` +
        "Stop it first, or set DATA_DIR to another folder (DATABASE_URL for several processes).",
    );
  });
}

/** Creates the database beside its place, so that a folder of its name is always whole. */
async function createOnce(folder: string): Promise<void> {
  const isThere = await stat(path.join(folder, "PG_VERSION")).catch(() => null);
  if (isThere) return;
  const made = `${folder}.new`;
  await rm(made, { recursive: true, force: true });
  await makeFolder(made, 0o700); // PGlite's own files are open to everybody
  await (await PGlite.create({ dataDir: made })).close();
  await syncTree(made);
  await moveDurably(made, folder).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOTEMPTY" ? new Error("it is no database, and not empty: move it away") : error;
  });
}

async function open(
  folder: string,
  sync: boolean,
  hooks: EmbeddedHooks,
  unlock: () => Promise<void>,
): Promise<Embedded> {
  if (sync) await syncTree(folder); // a run with DATABASE_SYNC=off may have left what is not on the disk
  const wal = new WalFlush(hooks.onFatal);
  const fs = new EmbeddedFS(folder, sync ? wal : null);
  const pglite = await start(fs, sync, hooks.onFatal);
  let isClosing = false;
  // The shutdown's own checkpoint writes to the log as well, when PGlite takes no statement any more.
  const exec = (sql: string) => void pglite.exec(sql).catch((error) => isClosing || hooks.onFatal(error));
  fs.onEverySegments(SEGMENTS_PER_CHECKPOINT, () => exec("CHECKPOINT"));
  const isStorageFull = watchFreeSpace(folder, (isFull, freeBytes) => {
    // PostgreSQL tells a write from a read. What is sent after this waits for it.
    exec(`SET default_transaction_read_only = ${isFull ? "on" : "off"}`);
    hooks.onStorage(isFull, freeBytes);
  });
  const around: Around = {
    before: isStorageFull,
    after: () => wal.flushed(),
    errorOf: (error) => (isStorageFull() && isReadOnlyError(error) ? STORAGE_FULL : error),
  };
  const close = async () => {
    isClosing = true;
    await pglite.close();
    wal.close();
    await unlock();
  };
  return {
    adapter: await embeddedAdapter(pglite, around),
    isStorageFull,
    migrate: () => migrateEmbedded(pglite),
    close,
  };
}

/** After a PANIC, or a trap in WebAssembly, PGlite would try to go on for ever. */
async function start(fs: EmbeddedFS, sync: boolean, onFatal: (error: Error) => void): Promise<PGlite> {
  let said = "";
  const onStderr = (text: string) => {
    if (/PANIC|FATAL/.test(text)) said = text;
    return false;
  };
  const startParams = [...(sync ? SYNCED : PGlite.defaultStartParams), ...SETTINGS];
  const pglite = await PGlite.create({ fs, startParams, onStderr });
  const run = pglite.Module._PostgresMainLoopOnce;
  pglite.Module._PostgresMainLoopOnce = () => {
    try {
      run();
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) onFatal(new Error(said || error.message, { cause: error }));
      throw error;
    }
  };
  return pglite;
}

/** SQLSTATE 25006, read_only_sql_transaction. Not by `instanceof`: the adapter has a copy of the class. */
const isReadOnlyError = (error: unknown): boolean =>
  (error as { cause?: { originalCode?: unknown } }).cause?.originalCode === "25006";

/** As PostgreSQL reports it: SQLSTATE 53100, disk_full. */
const STORAGE_FULL = new DriverAdapterError({
  kind: "postgres",
  code: "53100",
  severity: "ERROR",
  message: "there is too little free space on the disk",
  detail: undefined,
  column: undefined,
  hint: undefined,
});

import { readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { makeFolder, moveDurably, syncTree } from "../../files/durable";
import { FileLockedError, lockFile } from "../../files/lock";
import type { CopySession, CopySnapshot } from "../copy";
import { embeddedAdapter, runWithHooks, type StatementHooks } from "./adapter";
import { clientOf } from "./client";
import { embeddedCopySession, snapshotOf } from "./copy-session";
import { EmbeddedFS } from "./embedded-fs";
import { FolderError, openingFailure, STORAGE_FULL, watchFreeSpace } from "./failures";
import { migrateEmbedded } from "./migrate";
import { assertNotMoved, markMoved, unmarkMoved } from "./moved-folder";
import { compilePglite, startUnoptimized } from "./pglite-code";
import { templateFile, unpackDatabase } from "./template";
import { WalFlush } from "./wal-flush";
import { createWriteGate } from "./write-gate";

/**
 * PostgreSQL's default of 128 MB for shared_buffers would be most of the process's memory, and is no faster here. A generic
 * plan would be kept while its tables grow: PGlite has no autovacuum, which would have it made again.
 */
const SETTINGS = ["-c", "shared_buffers=16MB", "-c", "plan_cache_mode=force_custom_plan"];
/** PGlite's default parameters contain -F, which turns fsync off. `EmbeddedFS` implements no other sync method. */
const SYNCED = PGlite.defaultStartParams.filter((param) => param !== "-F").concat("-c", "wal_sync_method=fsync");
/** PGlite has no checkpointer: without checkpoints the log would grow, and the next start would replay all of it. */
const SEGMENTS_PER_CHECKPOINT = 4;

/** The data folder is in use by another process. */
class DataDirInUseError extends Error {
  override readonly name = "DataDirInUseError";
}

export type EmbeddedHooks = {
  /** Must end the process: the database is in an unknown state until the next start recovers it. */
  onFatal: (error: Error) => never;
  /** Called when the free disk space becomes too low for writes (`isFull`), and when it is sufficient again. */
  onStorage: (isFull: boolean, freeBytes: number) => void;
};

type EmbeddedOptions = Partial<EmbeddedHooks> & {
  /** A new database is a copy of the build's, if there is a build: it is there sooner, and has all migrations. */
  isMigrated?: boolean;
};

export type Embedded = {
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** Returns whether writes are rejected because the free disk space is too low. */
  isStorageFull: () => boolean;
  /** Whether writes wait, because the database is being copied. */
  isPaused: () => boolean;
  /** Applies the pending migrations, or those of `names`, and returns the names of the applied ones. */
  migrate: (names?: readonly string[]) => Promise<string[]>;
  /** Copies tables into the database. */
  copySession: CopySession;
  /** Copies tables from the database. Until it is closed, writes wait, while reads continue. */
  openSnapshot: () => Promise<CopySnapshot>;
  /** Marks the folder as moved, and makes writes fail. `to` names the new database, without a password. */
  retire: (to: string) => Promise<void>;
  reinstate: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Opens PGlite in `dataDir/db` and locks `dataDir/db.lock`: PGlite does not lock its folder, and two processes would
 * corrupt it. If `isSynced`, a statement's changes are on disk before it resolves.
 * @throws DataDirInUseError if another process uses the folder; DataMovedError if its data has moved;
 * EmbeddedUnavailableError if the disk is full or the files are damaged
 */
export async function openEmbedded(dataDir: string, isSynced: boolean, given: EmbeddedOptions): Promise<Embedded> {
  const { isMigrated = false, ...hooks } = { onFatal: endProcess, onStorage: () => {}, ...given };
  await makeFolder(dataDir, 0o700);
  await assertNotMoved(dataDir);
  const folder = path.join(dataDir, "db");
  const unlock = await lockFolder(folder);
  try {
    return await startUnoptimized(async () => {
      await createOnce(folder, isMigrated);
      return open(dataDir, isSynced, hooks, unlock);
    });
  } catch (error) {
    await unlock();
    throw openingFailure(folder, error);
  }
}

function endProcess(error: Error): never {
  process.stderr.write(`The embedded database failed: ${error.message}\n`);
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

/** Creates the database in a temporary folder and renames it, so that `folder` is always complete. */
async function createOnce(folder: string, isMigrated: boolean): Promise<void> {
  const exists = await stat(path.join(folder, "PG_VERSION")).catch(() => null);
  if (exists) return;
  const temporary = `${folder}.new`;
  await rm(temporary, { recursive: true, force: true });
  await makeFolder(temporary, 0o700); // PGlite creates its files readable by every user
  try {
    await fill(temporary, isMigrated);
    await syncAndMark(temporary);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }); // on a full disk, the rest of the service needs the space
    throw error;
  }
  await moveDurably(temporary, folder).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOTEMPTY"
      ? new FolderError("it is not empty and contains no database; move it away")
      : error;
  });
}

async function fill(folder: string, isMigrated: boolean): Promise<void> {
  const template = isMigrated ? await readFile(await templateFile()).catch(() => null) : null;
  if (template) await unpackDatabase(template, folder);
  else await (await PGlite.create({ dataDir: folder, pgliteWasmModule: await compilePglite() })).close();
}

/** A file in the database's folder. While it is there, no run without sync has left files that are not on disk. */
const syncedMark = (folder: string) => path.join(folder, "homeport.synced");

async function syncAndMark(folder: string): Promise<void> {
  await syncTree(folder);
  await writeFile(syncedMark(folder), "");
}

async function open(dataDir: string, isSynced: boolean, hooks: EmbeddedHooks, unlock: () => Promise<void>) {
  const folder = path.join(dataDir, "db");
  // A run without sync may have written the database. Most starts need not sync it: it has a thousand files.
  if (!isSynced) await rm(syncedMark(folder), { force: true });
  else if (!(await stat(syncedMark(folder)).catch(() => null))) await syncAndMark(folder);
  const wal = new WalFlush(hooks.onFatal);
  const fs = new EmbeddedFS(folder, isSynced ? wal : null);
  const pglite = await start(fs, isSynced, hooks.onFatal);
  let isClosing = false;
  // On shutdown PostgreSQL's last checkpoint writes to the log too, when PGlite no longer accepts statements.
  const exec = (sql: string) => pglite.exec(sql).catch((error) => isClosing || hooks.onFatal(error));
  fs.onEverySegments(SEGMENTS_PER_CHECKPOINT, () => void exec("CHECKPOINT"));
  const gate = createWriteGate(exec);
  const isStorageFull = watchFreeSpace(folder, (isFull, freeBytes) => {
    gate.setFull(isFull);
    hooks.onStorage(isFull, freeBytes);
  });
  const statementHooks: StatementHooks = {
    before: isStorageFull,
    after: () => wal.flushed(),
    errorOf: (error) => (isStorageFull() && isReadOnlyError(error) ? STORAGE_FULL : error),
    pause: gate.current,
    isFromPause: (error) => !gate.isClosed() && isReadOnlyError(error),
  };
  const copySession = embeddedCopySession(pglite, (send) => runWithHooks(statementHooks, send));
  const client = clientOf(pglite);
  const migrate = async (names?: readonly string[]) => {
    try {
      return await migrateEmbedded(pglite, names);
    } finally {
      client.invalidateStatements();
    }
  };
  const close = async () => {
    isClosing = true;
    try {
      await pglite.close();
      wal.close();
    } finally {
      await unlock();
    }
  };
  return {
    adapter: await embeddedAdapter(client, statementHooks),
    isStorageFull,
    isPaused: () => gate.current() !== null,
    migrate,
    copySession,
    openSnapshot: () => snapshotOf(copySession, gate),
    retire: async (to: string) => {
      await markMoved(dataDir, to, new Date());
      await gate.setClosed(true);
    },
    reinstate: async () => {
      await unmarkMoved(dataDir);
      await gate.setClosed(false);
    },
    close,
  };
}

/** Starts PGlite, and calls `onFatal` after a PANIC or a WebAssembly trap: PGlite itself would continue to run. */
async function start(fs: EmbeddedFS, isSynced: boolean, onFatal: (error: Error) => void): Promise<PGlite> {
  let fatalMessage = "";
  const onStderr = (text: string) => {
    if (/PANIC|FATAL/.test(text)) fatalMessage = text;
    return false;
  };
  const startParams = [...(isSynced ? SYNCED : PGlite.defaultStartParams), ...SETTINGS];
  const pgliteWasmModule = await compilePglite();
  const pglite = await PGlite.create({ fs, startParams, onStderr, pgliteWasmModule }).catch((error: Error) => {
    throw new Error(fatalMessage.trim() || "PostgreSQL ended during its start", { cause: error });
  });
  const run = pglite.Module._PostgresMainLoopOnce;
  pglite.Module._PostgresMainLoopOnce = () => {
    try {
      run();
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError)
        onFatal(new Error(fatalMessage || error.message, { cause: error }));
      throw error;
    }
  };
  return pglite;
}

/** Returns whether an error of PGlite or its adapter is SQLSTATE 25006, read_only_sql_transaction. */
const isReadOnlyError = (error: unknown): boolean => {
  const { code, cause } = error as { code?: unknown; cause?: { originalCode?: unknown } };
  return (cause?.originalCode ?? code) === "25006";
};

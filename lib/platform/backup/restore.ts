import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { appliedMigrations, listTables, tablesWithRows } from "../db/copy/tables";
import { type Embedded, openEmbedded } from "../db/embedded/open";
import { migrationNames } from "../db/migrations";
import { openServerCopySession } from "../db/server/copy-session";
import { migrateServer } from "../db/server/migrate";
import { restoreSecrets } from "../embedded-secrets";
import { makeFolder, moveDurably, syncTree } from "../files/durable";
import { lockFile } from "../files/lock";
import { decode, parseIdentities } from "./encoding";
import { BackupError, notFound } from "./errors";
import type { Header } from "./format";
import { checkBackup, type Loaded, loadBackup } from "./load-backup";

/** A backup, which is read twice, and the age identity file that decrypts it. */
export type BackupFile = { read: () => AsyncIterable<Uint8Array>; identityFile: string | undefined };

/** Restores a backup into a throw-away embedded database, and compares counts and checksums. @throws BackupError */
export async function verifyBackup(backup: BackupFile): Promise<Loaded> {
  const chunks = await openBackup(backup);
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-verify-"));
  try {
    return await loadEmbedded(chunks, folder, false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Restores a backup into `dataDir`, which must have no database. The database appears there when it is complete; an
 * interrupted restore can be repeated. @throws BackupError
 */
export async function restoreEmbedded(backup: BackupFile, dataDir: string): Promise<Loaded> {
  const chunks = await openBackup(backup);
  await makeFolder(dataDir, 0o700);
  const unlock = await lockFile(path.join(dataDir, "restore.lock"));
  try {
    const folder = path.join(dataDir, "restore");
    await refuseDatabase(path.join(dataDir, "db"));
    await rm(folder, { recursive: true, force: true });
    const loaded = await loadEmbedded(chunks, folder, true, (embedded) => embedded.migrate());
    await writeSecrets(loaded, dataDir);
    await syncTree(folder);
    await moveDurably(path.join(folder, "db"), path.join(dataDir, "db"));
    await rm(folder, { recursive: true, force: true });
    return loaded;
  } finally {
    await unlock();
  }
}

/**
 * Restores a backup into a PostgreSQL database without rows, in one transaction. Writes the secrets of an embedded database to
 * `dataDir`. @throws BackupError
 */
export async function restoreServer(
  backup: BackupFile,
  url: string,
  dataDir: string,
  report: (line: string) => void,
): Promise<Loaded> {
  const chunks = await openBackup(backup);
  const session = await openServerCopySession(url);
  try {
    const loaded = await loadBackup(chunks, {
      prepare: async ({ migrations }) => {
        const others = (await appliedMigrations(session)).filter((name) => !migrations.includes(name));
        const full = await tablesWithRows(session, await listTables(session));
        if (full.length > 0) refuse(`The database has rows in ${full.join(", ")}`);
        if (others.length > 0) refuse(`The database has the newer schema ${others[0]}`);
        await migrateServer(url, report, { names: migrations });
        await session.query("BEGIN");
        return session;
      },
    });
    await writeSecrets(loaded, dataDir);
    await session.query("COMMIT");
    await session.query("ANALYZE");
    await migrateServer(url, report);
    return loaded;
  } finally {
    await session.close();
  }
}

/** Checks a backup, and opens it to be loaded. @throws BackupError */
async function openBackup(backup: BackupFile): Promise<AsyncIterable<Buffer>> {
  await checkBackup(await readFrom(backup));
  return readFrom(backup);
}

/** @throws BackupError file_not_found, identity_invalid */
async function readFrom({ read, identityFile }: BackupFile): Promise<AsyncIterable<Buffer>> {
  const identities = identityFile === undefined ? [] : await parseIdentities(await readText(identityFile));
  return decode(read(), identities);
}

const readText = (file: string) => readFile(file, "utf8").catch((error: Error) => Promise.reject(notFound(error)));

/** Loads a backup into a new embedded database in `folder`. `finish` changes it before it is closed. */
async function loadEmbedded(
  chunks: AsyncIterable<Buffer>,
  folder: string,
  isSynced: boolean,
  finish: (embedded: Embedded) => Promise<unknown> = async () => {},
): Promise<Loaded> {
  let embedded: Embedded | undefined;
  const prepare = async ({ migrations }: Header) => {
    // A backup with this version's schema is loaded into a copy of the build's database, which takes no migrations.
    const isMigrated = isDeepStrictEqual(migrations, await migrationNames());
    embedded = await openEmbedded(folder, isSynced, { isMigrated });
    await embedded.migrate(migrations);
    return embedded.copySession;
  };
  try {
    const loaded = await loadBackup(chunks, { prepare });
    if (embedded) await finish(embedded);
    return loaded;
  } finally {
    await embedded?.close();
  }
}

/** A file of a database that was removed may be left; an empty folder is no database. */
async function refuseDatabase(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  if (names.length > 0) refuse(`${folder} has a database`);
}

function refuse(reason: string): never {
  throw new BackupError("target_not_empty", `${reason}: restore into an empty database.`);
}

async function writeSecrets({ header }: Loaded, dataDir: string): Promise<void> {
  if (header.secrets === null || (await restoreSecrets(dataDir, header.secrets))) return;
  refuse(`${dataDir} has other secrets in secrets.json`);
}

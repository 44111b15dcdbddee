import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  appliedMigrations,
  type CopySession,
  listTables,
  summarizeTable,
  type Table,
  tablesWithRows,
} from "../db/copy";
import { type Embedded, openEmbedded } from "../db/embedded/open";
import { migrationNames } from "../db/migrations";
import { openServerCopySession } from "../db/server/copy-session";
import { migrateServer } from "../db/server/migrate";
import { restoreSecrets } from "../embedded-secrets";
import { makeFolder, moveDurably, removeOldFiles, syncTree } from "../files/durable";
import { lockFile } from "../files/lock";
import { decode, parseIdentities } from "./encoding";
import { BackupError, type Header, notFound, readBackup, type TableSummary } from "./format";

/** A backup, which is read twice, and the age identity file that decrypts it. */
type BackupFile = { read: () => AsyncIterable<Uint8Array>; identityFile: string | undefined };

const VERIFICATIONS = /^homeport-verify-/;

/** Restores a backup into a throw-away embedded database, and compares counts and checksums. @throws BackupError */
export async function verifyBackup(backup: BackupFile): Promise<Loaded> {
  const chunks = await openBackup(backup);
  await removeOldFiles(tmpdir(), VERIFICATIONS, process.getuid?.());
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
    // A file of a database that was removed may be left; an empty folder is no database.
    const names = await readdir(path.join(dataDir, "db")).catch(() => []);
    if (names.length > 0) refuse(`${path.join(dataDir, "db")} has a database`);
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
export async function restoreServer(backup: BackupFile, url: string, dataDir: string, report: (line: string) => void) {
  const chunks = await openBackup(backup);
  const session = await openServerCopySession(url);
  try {
    const loaded = await loadBackup(chunks, async ({ migrations }) => {
      const others = (await appliedMigrations(session)).filter((name) => !migrations.includes(name));
      const full = await tablesWithRows(session, await listTables(session));
      if (full.length > 0) refuse(`The database has rows in ${full.join(", ")}`);
      if (others.length > 0) refuse(`The database has the newer schema ${others[0]}`);
      await migrateServer(url, report, { names: migrations });
      await session.query("BEGIN");
      return session;
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
  if (identityFile === undefined) return decode(read(), []);
  const text = await readFile(identityFile, "utf8").catch((error: Error) => Promise.reject(notFound(error)));
  return decode(read(), await parseIdentities(text));
}

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
    const loaded = await loadBackup(chunks, prepare);
    if (embedded) await finish(embedded);
    return loaded;
  } finally {
    await embedded?.close();
  }
}

function refuse(reason: string): never {
  throw new BackupError("target_not_empty", `${reason}: restore into an empty database.`);
}

async function writeSecrets({ header }: Loaded, dataDir: string): Promise<void> {
  if (header.secrets === null || (await restoreSecrets(dataDir, header.secrets))) return;
  refuse(`${dataDir} has other secrets in secrets.json`);
}

/**
 * Reads a backup once, without a database: a file that is damaged or of a newer version is refused in seconds.
 * @throws BackupError backup_invalid, backup_damaged, backup_too_new
 */
async function checkBackup(chunks: AsyncIterable<Buffer>): Promise<void> {
  await readBackup(chunks, {
    onHeader: refuseNewer,
    onTable: async (_, rows) => {
      for await (const _lines of rows);
    },
  });
}

/** Prepares an empty database for a backup: applies the migrations of its schema, and no later ones. */
type Prepare = (header: Header) => Promise<CopySession>;

export type Loaded = { header: Header; tables: TableSummary[] };

/**
 * Loads a checked backup into an empty database, and compares what the database then has with the backup's counts and checksums.
 * @throws BackupError backup_invalid, backup_damaged, backup_too_new
 */
async function loadBackup(chunks: AsyncIterable<Buffer>, prepare: Prepare): Promise<Loaded> {
  let opened: { header: Header; session: CopySession; tables: Map<string, Table> } | undefined;
  const written: Table[] = [];
  const tables = await readBackup(chunks, {
    onHeader: async (header) => {
      const session = await prepare(header);
      const known = (await listTables(session)).map((table) => [table.name, table] as const);
      opened = { header, session, tables: new Map(known) };
    },
    onTable: async (table, rows) => {
      // Names in the file become part of SQL: they must be those of the schema.
      const known = opened?.tables.get(table.name);
      if (!known || !table.columns.every((column) => known.columns.includes(column))) {
        throw new BackupError("backup_damaged", `The backup has a table that its schema lacks: ${table.name}.`);
      }
      await opened?.session.write(table, rows);
      written.push(table);
    },
  });
  if (!opened) throw new BackupError("backup_damaged", "The backup has no header.");
  for (const table of written) await compare(opened.session, table, tables);
  if (written.length !== tables.length || written.length !== opened.tables.size) {
    throw new BackupError("backup_damaged", "The backup lacks tables of its schema.");
  }
  return { header: opened.header, tables };
}

async function compare(session: CopySession, table: Table, expected: readonly TableSummary[]): Promise<void> {
  const summary = expected.find(({ name }) => name === table.name);
  const { rows, checksum } = await summarizeTable(session, table);
  if (summary?.rows === rows && summary.checksum === checksum) return;
  throw new BackupError("backup_damaged", `The rows of ${table.name} are not those that were backed up.`);
}

async function refuseNewer({ migrations, version }: Header): Promise<void> {
  const known = new Set(await migrationNames());
  const unknown = migrations.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new BackupError(
    "backup_too_new",
    `The backup is of version ${version}, whose schema is newer (${unknown[0]}). Install that version first.`,
  );
}

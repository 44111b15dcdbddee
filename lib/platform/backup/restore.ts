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
 * Restores a backup into a PostgreSQL database without rows, in one transaction, or continues after it. Writes the secrets of an
 * embedded database to `dataDir`. @throws BackupError
 */
export async function restoreServer(
  backup: BackupFile,
  url: string,
  dataDir: string,
  report: (line: string) => void,
): Promise<Loaded> {
  const checked = await checkBackup(await readFrom(backup));
  const session = await openServerCopySession(url);
  try {
    const full = await tablesWithRows(session, await listTables(session));
    if (full.length === 0) await loadServer(await readFrom(backup), session, url, dataDir, report);
    else if (await isLoaded(session, checked)) await writeSecrets(checked, dataDir);
    else refuse(`The database has rows in ${full.join(", ")}`);
    await session
      .query("ANALYZE")
      .catch(({ message }: Error) => report(`ANALYZE failed, and autovacuum repeats it: ${message}`));
    await migrateServer(url, report);
    return checked;
  } finally {
    await session.close();
  }
}

async function loadServer(
  chunks: AsyncIterable<Buffer>,
  session: CopySession,
  url: string,
  dataDir: string,
  report: (line: string) => void,
): Promise<void> {
  const loaded = await loadBackup(chunks, async ({ migrations }) => {
    const others = (await appliedMigrations(session)).filter((name) => !migrations.includes(name));
    if (others.length > 0) refuse(`The database has the newer schema ${others[0]}`);
    await migrateServer(url, report, { names: migrations });
    await session.query("BEGIN");
    return session;
  });
  await writeSecrets(loaded, dataDir);
  await session.query("COMMIT");
}

/** Whether a database has exactly the rows of a backup, because a restore was interrupted after its transaction. */
async function isLoaded(session: CopySession, { columns, tables }: Checked): Promise<boolean> {
  const known = new Map((await listTables(session)).map((table) => [table.name, table]));
  for (const table of columns) {
    if (!isOfSchema(table, known) || !(await hasRowsOf(session, table, tables))) return false;
  }
  return true;
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

/** A checked backup, with the columns of its tables. */
type Checked = Loaded & { columns: Table[] };

/**
 * Reads a backup once, without a database: a file that is damaged or of a newer version is refused in seconds.
 * @throws BackupError backup_invalid, backup_damaged, backup_too_new
 */
async function checkBackup(chunks: AsyncIterable<Buffer>): Promise<Checked> {
  let header: Header | undefined;
  const columns: Table[] = [];
  const tables = await readBackup(chunks, {
    onHeader: async (given) => {
      await refuseNewer(given);
      header = given;
    },
    onTable: async (table, rows) => {
      columns.push(table);
      for await (const _lines of rows);
    },
  });
  if (!header) throw new BackupError("backup_damaged", "The backup has no header.");
  return { header, tables, columns };
}

/** Whether a schema has a table and its columns: names in a backup become part of SQL. */
const isOfSchema = ({ name, columns }: Table, known: ReadonlyMap<string, Table>): boolean =>
  columns.every((column) => known.get(name)?.columns.includes(column));

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
      if (!opened || !isOfSchema(table, opened.tables)) {
        throw new BackupError("backup_damaged", `The backup has a table that its schema lacks: ${table.name}.`);
      }
      await opened.session.write(table, rows);
      written.push(table);
    },
  });
  if (!opened) throw new BackupError("backup_damaged", "The backup has no header.");
  for (const table of written) {
    if (await hasRowsOf(opened.session, table, tables)) continue;
    throw new BackupError("backup_damaged", `The rows of ${table.name} are not those that were backed up.`);
  }
  if (written.length !== tables.length || written.length !== opened.tables.size) {
    throw new BackupError("backup_damaged", "The backup lacks tables of its schema.");
  }
  return { header: opened.header, tables };
}

async function hasRowsOf(session: CopySession, table: Table, expected: readonly TableSummary[]): Promise<boolean> {
  const summary = expected.find(({ name }) => name === table.name);
  const { rows, checksum } = await summarizeTable(session, table);
  return summary?.rows === rows && summary.checksum === checksum;
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

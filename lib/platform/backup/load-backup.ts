import { summarizeTable } from "../db/copy/copy";
import type { CopySession, Table } from "../db/copy/session";
import { listTables } from "../db/copy/tables";
import { migrationNames } from "../db/migrations";
import { BackupError } from "./errors";
import { type Header, readBackup, type TableSummary } from "./format";

/**
 * Reads a backup once, without a database: a file that is damaged or of a newer version is refused in seconds.
 * @throws BackupError backup_invalid, backup_damaged, backup_too_new
 */
export async function checkBackup(chunks: AsyncIterable<Buffer>): Promise<void> {
  await readBackup(chunks, {
    onHeader: refuseNewer,
    onTable: async (_, rows) => {
      for await (const _lines of rows);
    },
  });
}

/** A database that a backup is loaded into. */
export type RestoreTarget = {
  /** Prepares the database for the backup: applies the migrations of its schema, and no later ones. */
  prepare: (header: Header) => Promise<CopySession>;
};

export type Loaded = { header: Header; tables: TableSummary[] };

/**
 * Loads a checked backup into an empty database, and compares what the database then has with the backup's counts and checksums.
 * @throws BackupError backup_invalid, backup_damaged, backup_too_new
 */
export async function loadBackup(chunks: AsyncIterable<Buffer>, { prepare }: RestoreTarget): Promise<Loaded> {
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

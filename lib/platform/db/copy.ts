import { createHash } from "node:crypto";

/** A table and its columns in the order in which they are copied, without generated columns. */
export type Table = { name: string; columns: readonly string[] };

/**
 * A connection that copies tables, in the text format of COPY (PostgreSQL 17, COPY, "File Formats"): a line for each row.
 * Line feeds within values are escaped, and times are in UTC, so a row has the same bytes on every database.
 */
export type CopySession = {
  query: <Row>(sql: string, values?: unknown[]) => Promise<Row[]>;
  /** Runs a script of several statements as one transaction, unless it contains its own. */
  exec: (script: string) => Promise<void>;
  /** Reads the rows of a query in chunks of whole lines. */
  select: (sql: string) => AsyncIterable<Buffer>;
  /** Reads a table in chunks of whole lines, in bounded memory. The order of the rows is not defined. */
  read: (table: Table) => AsyncIterable<Buffer>;
  /** Appends rows to a table, in the session's transaction if there is one. Chunks need not end with a line. */
  write: (table: Table, chunks: AsyncIterable<Buffer>) => Promise<void>;
};

/** A session that reads the state of one moment. */
export type CopySnapshot = CopySession & { close: () => Promise<void> };

/** Quotes an SQL identifier from the catalogs. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const copyTarget = ({ name, columns }: Table): string => `${quoted(name)} (${columns.map(quoted).join(", ")})`;

/** Prisma's record of the applied migrations. It is not copied: a target's own migrations write it. */
const MIGRATIONS_TABLE = "_prisma_migrations";

/** Unlogged tables are not copied: a crash of the server empties them too. */
const TABLES = `
  SELECT relname AS name, array_agg(attname::text ORDER BY attnum) AS columns
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
  WHERE relkind = 'r' AND relpersistence = 'p' AND relnamespace = current_schema()::regnamespace
    AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND relname <> '${MIGRATIONS_TABLE}'
  GROUP BY relname ORDER BY relname`;

const REFERENCES = `
  SELECT t.relname AS "from", r.relname AS "to"
  FROM pg_constraint JOIN pg_class t ON t.oid = conrelid JOIN pg_class r ON r.oid = confrelid
  WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`;

/**
 * The tables of the service, from the catalogs: each after the tables that its foreign keys refer to.
 * @throws Error if foreign keys form a circle
 */
export async function listTables({ query }: Pick<CopySession, "query">): Promise<Table[]> {
  const tables = await query<Table>(TABLES);
  const references = await query<{ from: string; to: string }>(REFERENCES);
  const sorted: Table[] = [];
  let left = tables;
  while (left.length > 0) {
    const waiting = new Set(left.map(({ name }) => name));
    const isReady = ({ name }: Table) => !references.some(({ from, to }) => from === name && waiting.has(to));
    const ready = left.filter(isReady);
    if (ready.length === 0) throw new Error(`Foreign keys form a circle: ${[...waiting].join(", ")}`);
    sorted.push(...ready);
    left = left.filter((table) => !ready.includes(table));
  }
  return sorted;
}

/** The names of the applied migrations, oldest first; empty for an empty database. They are the schema's version. */
export async function appliedMigrations({ query }: Pick<CopySession, "query">): Promise<string[]> {
  const found = await query<{ name: string | null }>(`SELECT to_regclass('${MIGRATIONS_TABLE}')::text AS name`);
  if (found[0]?.name === null) return [];
  const rows = await query<{ name: string }>(
    `SELECT migration_name AS name FROM ${MIGRATIONS_TABLE}
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name COLLATE "C"`,
  );
  return rows.map(({ name }) => name);
}

export async function tablesWithRows(session: Pick<CopySession, "query">, tables: readonly Table[]): Promise<string[]> {
  const names: string[] = [];
  for (const { name } of tables) {
    const rows = await session.query(`SELECT 1 FROM ${quoted(name)} LIMIT 1`);
    if (rows.length > 0) names.push(name);
  }
  return names;
}

export async function countRows({ query }: Pick<CopySession, "query">, { name }: Table): Promise<number> {
  const rows = await query<{ count: number }>(`SELECT count(*)::int AS count FROM ${quoted(name)}`);
  return rows[0]?.count ?? 0;
}

const LINE_FEED = 0x0a;
const WORDS = 8;

/** Cuts chunks after line feeds. Chunks have at least `minBytes`, except the last one. */
export async function* wholeLines(chunks: AsyncIterable<Buffer>, minBytes: number): AsyncIterable<Buffer> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  for await (const chunk of chunks) {
    const end = waitingBytes + chunk.length < minBytes ? 0 : chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      yield Buffer.concat([...waiting, chunk.subarray(0, end)]);
      waiting = [];
      waitingBytes = 0;
    }
    waiting.push(chunk.subarray(end));
    waitingBytes += chunk.length - end;
  }
  if (waitingBytes > 0) yield Buffer.concat(waiting);
}

/** What a table contains. Equal rows in another order have an equal checksum. */
export type Summary = { rows: number; checksum: string };

/**
 * Counts and sums up the rows of a table: the checksum is the sum of the rows' SHA-256 hashes, in words of 32 bits. Databases
 * return rows in different orders, and sort text differently.
 */
export class RowSummary {
  #rows = 0;
  readonly #sum = new Uint32Array(WORDS);

  /** Adds rows: a chunk of whole lines. */
  add(lines: Buffer): void {
    for (let start = 0; start < lines.length; ) {
      const end = lines.indexOf(LINE_FEED, start) + 1 || lines.length;
      const hash = createHash("sha256").update(lines.subarray(start, end)).digest();
      for (let i = 0; i < WORDS; i++) this.#sum[i] = (this.#sum[i] ?? 0) + hash.readUInt32BE(i * 4);
      this.#rows += 1;
      start = end;
    }
  }

  get(): Summary {
    const words = [...this.#sum].map((word) => word.toString(16).padStart(8, "0"));
    return { rows: this.#rows, checksum: words.join("") };
  }
}

/** Passes chunks of whole lines on, and adds them to a summary. */
export async function* summarized(chunks: AsyncIterable<Buffer>, summary: RowSummary): AsyncIterable<Buffer> {
  for await (const lines of chunks) {
    summary.add(lines);
    yield lines;
  }
}

export async function summarizeTable(source: Pick<CopySession, "read">, table: Table): Promise<Summary> {
  const summary = new RowSummary();
  for await (const lines of source.read(table)) summary.add(lines);
  return summary.get();
}

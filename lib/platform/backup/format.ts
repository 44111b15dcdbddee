import { z } from "zod";
import { type CopySession, listTables, RowSummary, summarized, type Table, wholeLines } from "../db/copy";
import { readJson } from "../json";

/** Why a backup cannot be read or restored. */
export type BackupErrorCode =
  | "backup_invalid"
  | "backup_damaged"
  | "backup_too_new"
  | "identity_required"
  | "identity_invalid"
  | "wrong_key"
  | "target_not_empty"
  | "file_not_found";

/** A backup cannot be read or restored. The message is for operators. */
export class BackupError extends Error {
  override readonly name = "BackupError";

  constructor(
    readonly code: BackupErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

export const notFound = ({ message }: Error) =>
  new BackupError("file_not_found", `The file cannot be read: ${message}.`);

/** The version of the format. Readers refuse a later one. */
const FORMAT = 1;
const LINE_FEED = 0x0a;
const READ_BYTES = 64 * 1024;
/** A line that no row has, as in the scripts of pg_dump (PostgreSQL 17, COPY, "Text Format"). */
const END_OF_ROWS = Buffer.from("\\.\n");

/** The first line of a backup. */
export const Header = z.object({
  homeportBackup: z.number().int(),
  /** The version of the service that made it. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  /** The names of the migrations of its schema, oldest first. */
  migrations: z.array(z.string()),
  /** The file with the generated secrets; null if the secrets are configured. */
  secrets: z.string().nullable(),
});
export type Header = z.infer<typeof Header>;

const TableLine = z.object({ table: z.string(), columns: z.array(z.string()).min(1) });
const TableSummary = z.object({ name: z.string(), rows: z.number().int(), checksum: z.string() });
/** The last line. A file without it is truncated. */
const Trailer = z.object({ tables: z.array(TableSummary) });
export type TableSummary = z.infer<typeof TableSummary>;
const NextLine = z.union([TableLine, Trailer]);

const toLine = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

/**
 * Writes a backup: a header; for each table a line with its name and columns, its rows in COPY's text format, and a line with
 * `\.`; a trailer with the number and the checksum of each table's rows.
 */
export async function* writeBackup(
  source: Pick<CopySession, "query" | "read">,
  header: Omit<Header, "homeportBackup">,
): AsyncIterable<Buffer> {
  yield toLine({ homeportBackup: FORMAT, ...header } satisfies Header);
  const tables: TableSummary[] = [];
  for (const table of await listTables(source)) {
    yield toLine({ table: table.name, columns: [...table.columns] } satisfies z.input<typeof TableLine>);
    const summary = new RowSummary();
    yield* summarized(source.read(table), summary);
    yield END_OF_ROWS;
    tables.push({ name: table.name, ...summary.get() });
  }
  yield toLine({ tables });
}

/** What reads the parts of a backup, in their order. `onTable` must read all rows. */
type Parts = {
  onHeader: (header: Header) => Promise<void>;
  onTable: (table: Table, rows: AsyncIterable<Buffer>) => Promise<void>;
};

/**
 * Reads a backup from its start to its end, and compares its rows with its trailer. Returns what the trailer says.
 * @throws BackupError backup_invalid, backup_too_new, backup_damaged
 */
export async function readBackup(chunks: AsyncIterable<Buffer>, { onHeader, onTable }: Parts): Promise<TableSummary[]> {
  const reader = new LineReader(chunks);
  const found: TableSummary[] = [];
  await onHeader(parseHeader(await reader.line()));
  for (;;) {
    const line = readJson(NextLine, await reader.line());
    if (!line)
      throw new BackupError("backup_damaged", "The backup is damaged: a line between two tables is not valid.");
    if ("tables" in line) {
      if (!(await reader.isAtEnd())) throw new BackupError("backup_damaged", "The backup continues after its end.");
      if (JSON.stringify(found) === JSON.stringify(line.tables)) return found;
      throw new BackupError("backup_damaged", "The backup is damaged: its rows are not those that were written.");
    }
    const table = { name: line.table, columns: line.columns };
    const summary = new RowSummary();
    await onTable(table, summarized(reader.rows(), summary));
    found.push({ name: table.name, ...summary.get() });
  }
}

function parseHeader(line: string): Header {
  const header = readJson(Header, line);
  const { homeportBackup: format } = readJson(Header.pick({ homeportBackup: true }), line) ?? {};
  if (format === undefined) throw new BackupError("backup_invalid", "The file is not a backup of Homeport.");
  if (format > FORMAT) {
    throw new BackupError(
      "backup_too_new",
      `The backup has format ${format}, of a newer version. Upgrade Homeport first.`,
    );
  }
  if (!header) throw new BackupError("backup_damaged", "The backup's header is not valid.");
  return header;
}

/** Reads single lines, and the rows of tables. @throws BackupError backup_damaged at the end of the file */
class LineReader {
  #lines: Buffer = Buffer.alloc(0);
  readonly #chunks: AsyncIterator<Buffer>;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = wholeLines(chunks, READ_BYTES)[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const lines = await this.#next();
    const end = lines.indexOf(LINE_FEED);
    this.#lines = lines.subarray(end + 1);
    return lines.toString("utf8", 0, end);
  }

  async *rows(): AsyncIterable<Buffer> {
    for (;;) {
      const lines = await this.#next();
      const end = endOfRows(lines);
      this.#lines = end === null ? Buffer.alloc(0) : lines.subarray(end + END_OF_ROWS.length);
      if (end !== 0) yield end === null ? lines : lines.subarray(0, end);
      if (end !== null) return;
    }
  }

  async isAtEnd(): Promise<boolean> {
    return this.#lines.length === 0 && Boolean((await this.#chunks.next()).done);
  }

  /** Whole lines: what is left of a chunk, or the next one. */
  async #next(): Promise<Buffer> {
    if (this.#lines.length > 0) return this.#lines;
    const { value, done } = await this.#chunks.next();
    if (done || value.at(-1) !== LINE_FEED) {
      throw new BackupError("backup_damaged", "The backup is truncated: its end is missing.");
    }
    return value;
  }
}

/** The position of the line that ends the rows; null if it is not among the lines. */
function endOfRows(lines: Buffer): number | null {
  if (lines.subarray(0, END_OF_ROWS.length).equals(END_OF_ROWS)) return 0;
  const before = lines.indexOf(`\n${END_OF_ROWS}`);
  return before === -1 ? null : before + 1;
}

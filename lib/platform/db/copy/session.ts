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

/** The table and its columns as COPY names them. */
export const copyTarget = ({ name, columns }: Table): string => `${quoted(name)} (${columns.map(quoted).join(", ")})`;

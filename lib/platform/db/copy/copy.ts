import { type Summary, TableSummary } from "./lines";
import type { CopySession, Table } from "./session";

/** Reads a table in chunks of whole lines. Calls `onEnd` with what they contain after the last one. */
export function readTable(
  source: Pick<CopySession, "read">,
  table: Table,
  onEnd: (summary: Summary) => void,
): AsyncIterable<Buffer> {
  return summarized(source.read(table), onEnd);
}

/** Passes chunks of whole lines on. Calls `onEnd` with what they contain after the last one. */
export async function* summarized(
  chunks: AsyncIterable<Buffer>,
  onEnd: (summary: Summary) => void,
): AsyncIterable<Buffer> {
  const summary = new TableSummary();
  for await (const lines of chunks) {
    summary.add(lines);
    yield lines;
  }
  onEnd(summary.get());
}

/** Reads a table, and returns the number and the checksum of its rows. */
export async function summarizeTable(source: Pick<CopySession, "read">, table: Table): Promise<Summary> {
  const summary = new TableSummary();
  for await (const lines of source.read(table)) summary.add(lines);
  return summary.get();
}

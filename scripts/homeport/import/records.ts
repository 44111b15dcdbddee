import { createReadStream } from "node:fs";
import { parse } from "csv-parse";
import chain from "stream-chain";
import { parser } from "stream-json";
import { pick } from "stream-json/filters/pick.js";
import { streamArray } from "stream-json/streamers/stream-array.js";
import { CommandError } from "../../../lib/errors";

/** A line of NDJSON, a row of CSV or an element of a JSON array, at a place that people find again. */
export type SourceRecord = { line: number; value: Record<string, unknown> };
/** A file, and who is told how much of it has been read. */
export type SourceFile = { file: string; onBytes: (count: number) => void };

const MAX_LINE_BYTES = 1024 * 1024;

const invalid = (file: string, line: number, expected: string) =>
  new CommandError("import_invalid", `${file}, line ${line}: ${expected}`);

function openCounted({ file, onBytes }: SourceFile) {
  return createReadStream(file).on("data", (chunk) => onBytes(chunk.length));
}

/** The values of an NDJSON file, a line at a time. @throws CommandError for a line that is not JSON, or of over 1 MiB */
export async function* readNdjson({ file, onBytes }: SourceFile): AsyncGenerator<SourceRecord> {
  let line = 0;
  for await (const bytes of splitLines({ file, onBytes })) {
    line += 1;
    if (bytes.length > MAX_LINE_BYTES) throw invalid(file, line, "expected at most 1 MiB");
    if (bytes.every((byte) => byte <= 32)) continue;
    yield { line, value: parseObject(file, line, bytes.toString()) };
  }
}

function parseObject(file: string, line: number, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw invalid(file, line, "expected a JSON object");
}

/** A line of over 1 MiB is cut after it, and nothing follows. */
async function* splitLines(given: SourceFile): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of openCounted(given) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([rest, chunk.subarray(start, end)]);
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    rest = Buffer.concat([rest, chunk.subarray(start)]);
    if (rest.length > MAX_LINE_BYTES) break;
  }
  if (rest.length > 0) yield rest;
}

/** The rows of a CSV file with a heading (RFC 4180). `line` is where the row begins. @throws CommandError */
export async function* readCsv({ file, onBytes }: SourceFile): AsyncGenerator<SourceRecord> {
  const rows = openCounted({ file, onBytes }).pipe(
    parse({ bom: true, columns: true, info: true, max_record_size: MAX_LINE_BYTES, skip_empty_lines: true }),
  );
  try {
    for await (const { record, info } of rows as AsyncIterable<{
      record: Record<string, string>;
      info: { lines: number };
    }>)
      yield { line: info.lines, value: record };
  } catch (error) {
    throw new CommandError("import_invalid", `${file}: expected CSV with a heading: ${(error as Error).message}`);
  }
}

/** The elements of a JSON array: the document, or its field `name`. @throws CommandError */
export async function* readJsonArray({ file, onBytes }: SourceFile, name?: string): AsyncGenerator<SourceRecord> {
  const stages = [
    openCounted({ file, onBytes }),
    parser(),
    ...(name === undefined ? [] : [pick({ filter: name })]),
    streamArray(),
  ];
  let line = 0;
  try {
    for await (const { value } of chain(stages) as AsyncIterable<{ value: unknown }>) {
      line += 1;
      if (typeof value !== "object" || value === null) throw new Error(`element ${line} is no object`);
      yield { line, value: value as Record<string, unknown> };
    }
  } catch (error) {
    const expected = name === undefined ? "a JSON array" : `JSON with an array "${name}"`;
    throw new CommandError("import_invalid", `${file}: expected ${expected}: ${(error as Error).message}`);
  }
}

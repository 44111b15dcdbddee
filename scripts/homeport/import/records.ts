import { createReadStream } from "node:fs";
import { parse } from "csv-parse/sync";
import { CommandError } from "../../../lib/errors";

export type Value = Record<string, unknown>;
/** Why a record cannot be read; the others can. */
export type Refusal = { code: string; detail: string };
/**
 * A line of NDJSON, a row of CSV or an element of a JSON array, and the line on which it begins. One that cannot be read has
 * its text instead of a value, or null if it is too long.
 */
export type SourceRecord =
  | { line: number; value: Value; refusal?: undefined }
  | { line: number; value: Value | string | null; refusal: Refusal };
/** A file, and who is told how much of it has been read. */
export type SourceFile = { file: string; onBytes: (count: number) => void };

/** A record's bytes; null if they are too many. */
type Part = { line: number; bytes: Buffer | null };

const MAX_RECORD_BYTES = 1024 * 1024;
const TOO_LONG: Refusal = { code: "too_big", detail: "Is longer than 1 MiB" };
const MALFORMED_JSON: Refusal = { code: "malformed_json", detail: "Is not a JSON object in UTF-8" };
const HEAD_BYTES = 4_096;
const [LINE_FEED, QUOTE, BACKSLASH] = [10, 34, 92];
const UTF_8 = new TextDecoder("utf-8", { fatal: true });

export const invalid = (file: string, line: number, expected: string) =>
  new CommandError("import_invalid", `${file}, line ${line}: expected ${expected}`);

/** The beginning of a file. @throws CommandError if it cannot be read */
export async function readHead(file: string): Promise<string> {
  try {
    const chunks = await createReadStream(file, { end: HEAD_BYTES - 1 }).toArray();
    return Buffer.concat(chunks)
      .toString()
      .replace(/^\uFEFF?\s*/, "");
  } catch (error) {
    throw new CommandError("import_invalid", `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Without a byte order mark. */
async function* readChunks({ file, onBytes }: SourceFile): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    onBytes(chunk.length);
    const mark = isFirst ? chunk.toString("hex", 0, 3) : "";
    if (/^(fffe|feff)/.test(mark)) throw invalid(file, 1, "UTF-8, not UTF-16");
    yield mark === "efbbbf" ? chunk.subarray(3) : chunk;
    isFirst = false;
  }
}

/** Collects the bytes of a record. Keeps none of one that is too long. */
class Collector {
  #parts: Buffer[] = [];
  sizeBytes = 0;

  add(part: Buffer): void {
    this.sizeBytes += part.length;
    if (this.sizeBytes <= MAX_RECORD_BYTES) this.#parts.push(part);
    else this.#parts = [];
  }

  take(): Buffer | null {
    const bytes = this.sizeBytes <= MAX_RECORD_BYTES ? Buffer.concat(this.#parts) : null;
    this.#parts = [];
    this.sizeBytes = 0;
    return bytes;
  }
}

/** Lines that are not empty; of CSV rows, which continue on the next line within quotation marks. */
async function* splitLines(source: SourceFile, { isCsv = false } = {}): AsyncGenerator<Part> {
  const record = new Collector();
  let [line, begin, quotes] = [1, 1, 0];
  for await (const chunk of readChunks(source)) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const part = chunk.subarray(start, end + 1);
      start = end + 1;
      line += 1;
      record.add(part);
      if (isCsv) quotes += countQuotes(part);
      if (quotes % 2 === 1) continue;
      yield* notEmpty({ line: begin, bytes: record.take() });
      [begin, quotes] = [line, 0];
    }
    record.add(chunk.subarray(start));
    if (isCsv) quotes += countQuotes(chunk.subarray(start));
  }
  if (quotes % 2 === 1) throw invalid(source.file, begin, "a closing quotation mark");
  yield* notEmpty({ line: begin, bytes: record.take() });
}

const notEmpty = (part: Part): Part[] => (part.bytes?.every((byte) => byte <= 32) ? [] : [part]);

function countQuotes(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) count += 1;
  return count;
}

/** The lines of a text file; null for one that is too long. */
export async function* readLines(source: SourceFile): AsyncGenerator<{ line: number; text: string | null }> {
  for await (const { line, bytes } of splitLines(source)) yield { line, text: bytes?.toString().trim() ?? null };
}

/** The values of an NDJSON file. @throws CommandError if the first line is no JSON object */
export async function* readNdjson(source: SourceFile): AsyncGenerator<SourceRecord> {
  let isFirst = true;
  for await (const part of splitLines(source)) {
    const record = toValue(part);
    if (isFirst && record.refusal === MALFORMED_JSON) throw invalid(source.file, part.line, "a JSON object");
    isFirst = false;
    yield record;
  }
  if (isFirst) throw invalid(source.file, 1, "a JSON object");
}

function toValue({ line, bytes }: Part): SourceRecord {
  if (bytes === null) return { line, value: null, refusal: TOO_LONG };
  const value = parseObject(bytes);
  return value ? { line, value } : { line, value: bytes.toString().trim(), refusal: MALFORMED_JSON };
}

function parseObject(text: Buffer | string): Value | null {
  try {
    const value: unknown = JSON.parse(typeof text === "string" ? text : UTF_8.decode(text));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Value) : null;
  } catch {
    return null;
  }
}

/** The rows of a CSV file with a heading (RFC 4180). @throws CommandError */
export async function* readCsv(source: SourceFile): AsyncGenerator<SourceRecord> {
  let heading: string[] | null = null;
  for await (const { line, bytes } of splitLines(source, { isCsv: true })) {
    const cells = bytes && parseRow(bytes);
    if (heading) yield toRow(heading, { line, bytes }, cells);
    else heading = cells;
    if (!heading) throw invalid(source.file, line, "the heading of CSV");
  }
  if (!heading) throw invalid(source.file, 1, "the heading of CSV");
}

function parseRow(bytes: Buffer): string[] | null {
  try {
    const text = UTF_8.decode(bytes).replace(/\r?\n$/, "");
    if (!text.includes('"')) return text.split(",");
    const [cells = null] = parse(text) as string[][];
    return cells;
  } catch {
    return null;
  }
}

/** A row with too few or too many cells has those that can be told apart; the rest is in the column "". */
function toRow(heading: string[], { line, bytes }: Part, cells: string[] | null): SourceRecord {
  if (bytes === null) return { line, value: null, refusal: TOO_LONG };
  const malformed = { code: "malformed_csv", detail: `Is not a row of ${heading.length} cells in UTF-8` };
  if (cells === null) return { line, value: bytes.toString().trim(), refusal: malformed };
  const value: Value = Object.fromEntries(heading.map((name, index) => [name, cells[index] ?? ""]));
  if (cells.length === heading.length) return { line, value };
  const rest = cells.slice(heading.length).join(",");
  return { line, value: rest ? { ...value, "": rest } : value, refusal: malformed };
}

/** The elements of a JSON array: the document, or its field `name`. @throws CommandError */
export async function* readJsonArray(source: SourceFile, name?: string): AsyncGenerator<SourceRecord> {
  const scanner = new ArrayScanner(source.file, name);
  for await (const chunk of readChunks(source)) for (const part of scanner.scan(chunk)) yield toValue(part);
  scanner.end();
}

/** Finds the elements of an array in JSON, each with the line on which it begins. */
class ArrayScanner {
  /** How deep the array's elements are. */
  readonly #base: number;
  readonly #element = new Collector();
  #state: "before" | "inside" | "after" = "before";
  #depth = 0;
  #line = 1;
  #begin = 1;
  #isInString = false;
  #isEscaped = false;
  /** The last string before the array. */
  #key = "";

  constructor(
    readonly file: string,
    readonly name: string | undefined,
  ) {
    this.#base = name === undefined ? 1 : 2;
  }

  *scan(chunk: Buffer): Generator<Part> {
    let start = 0;
    for (const [index, byte] of chunk.entries()) {
      const before = this.#depth;
      this.#step(byte);
      if (this.#state === "before" || before === this.#depth) continue;
      if (before === this.#base && this.#depth > before) [start, this.#begin] = [index, this.#line];
      if (before > this.#base && this.#depth === this.#base) {
        this.#element.add(chunk.subarray(start, index + 1));
        yield { line: this.#begin, bytes: this.#element.take() };
      }
    }
    if (this.#state === "inside" && this.#depth > this.#base) this.#element.add(chunk.subarray(start));
  }

  end(): void {
    if (this.#state !== "after") this.#fail();
  }

  #step(byte: number): void {
    if (byte === LINE_FEED) this.#line += 1;
    if (this.#isInString) this.#stepInString(byte);
    else this.#stepOutside(String.fromCharCode(byte));
  }

  #stepOutside(character: string): void {
    this.#check(character);
    if (character === '"') [this.#isInString, this.#key] = [true, ""];
    if (character === "{" || character === "[") this.#open(character);
    if (character === "}" || character === "]") this.#close();
  }

  #stepInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
    else if (this.#state === "before" && this.#key.length < HEAD_BYTES) this.#key += String.fromCharCode(byte);
  }

  /** Fails at the first character that the array, or the document around it, cannot have. */
  #check(character: string): void {
    const first = this.name === undefined ? "[" : "{";
    if (this.#depth === 0 && this.#state === "before" && character.trim() !== "" && character !== first) this.#fail();
    if (this.#depth === this.#base && this.#state === "inside" && !/[\s,\][{]/.test(character)) this.#fail();
  }

  #open(character: string): void {
    this.#depth += 1;
    const isArray = character === "[" && (this.name === undefined || this.#key === this.name);
    if (this.#state === "before" && this.#depth === this.#base && isArray) this.#state = "inside";
  }

  #close(): void {
    this.#depth -= 1;
    if (this.#state === "inside" && this.#depth < this.#base) this.#state = "after";
    if (this.#state === "before" && this.#depth === 0) this.#fail();
  }

  #fail(): never {
    const array = this.name === undefined ? "a JSON array" : `JSON with an array "${this.name}"`;
    throw invalid(this.file, this.#line, `${array} of objects`);
  }
}

/**
 * A record of a file of refused ones, as its source has it. Its text may have been mended, or replaced by an object.
 */
export function unwrapRefused(refused: SourceRecord): SourceRecord {
  if (refused.refusal) return refused;
  const { line } = refused;
  const { record } = refused.value;
  if (record === null || record === undefined) return { line, value: null, refusal: TOO_LONG };
  const value = parseObject(typeof record === "string" ? record : JSON.stringify(record));
  return value ? { line, value } : { line, value: String(record), refusal: MALFORMED_JSON };
}

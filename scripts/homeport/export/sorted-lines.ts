import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { writeChunks } from "../../../lib/platform/files/durable";

type Entry = { key: string; line: string };
type Head = { entries: AsyncGenerator<Entry, undefined>; next: Entry };

/** Longer ones are refused. The largest records are billing events with the body of their delivery. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_CHARACTERS_IN_MEMORY = 4 * 1024 * 1024;
const CHUNK_CHARACTERS = 256 * 1024;
const LINE_FEED = 0x0a;

/** Sorts lines by keys in bounded memory: what exceeds it is in sorted files next to `file`, which are merged. */
export class SortedLines {
  #entries: Entry[] = [];
  #characters = 0;
  readonly #runs: string[] = [];

  constructor(readonly file: string) {}

  get isFull(): boolean {
    return this.#characters > MAX_CHARACTERS_IN_MEMORY;
  }

  add(key: string, line: string): void {
    this.#entries.push({ key, line });
    this.#characters += key.length + line.length;
  }

  /** Frees the memory. */
  async spill(): Promise<void> {
    const run = `${this.file}.${this.#runs.length}.run`;
    this.#runs.push(run);
    const lines = this.#sorted().map(({ key, line }) => `${JSON.stringify(key)}\t${line}`);
    await writeChunks(run, toChunks(lines), 0o600);
  }

  /** The lines in the order of their keys. Removes the files. */
  async *read(): AsyncIterable<string> {
    const sources: Head[] = [];
    for (const entries of [entriesOf(this.#sorted()), ...this.#runs.map(entriesIn)]) {
      const { value, done } = await entries.next();
      if (!done) sources.push({ entries, next: value });
    }
    while (sources.length > 0) {
      const first = sources.reduce((least, source) => (source.next.key < least.next.key ? source : least));
      yield first.next.line;
      const { value, done } = await first.entries.next();
      if (done) sources.splice(sources.indexOf(first), 1);
      else first.next = value;
    }
    for (const run of this.#runs) await rm(run);
  }

  #sorted(): Entry[] {
    const entries = this.#entries.sort((a, b) => (a.key < b.key ? -1 : 1));
    this.#entries = [];
    this.#characters = 0;
    return entries;
  }
}

async function* entriesOf(entries: Entry[]): AsyncGenerator<Entry, undefined> {
  yield* entries;
}

async function* entriesIn(run: string): AsyncGenerator<Entry, undefined> {
  for await (const { text } of readLines(createReadStream(run), Number.POSITIVE_INFINITY)) {
    const end = (text as string).indexOf("\t");
    yield { key: JSON.parse((text as string).slice(0, end)), line: (text as string).slice(end + 1) };
  }
}

/** Joins lines to chunks, each line with a line feed. */
export async function* toChunks(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer> {
  let parts: string[] = [];
  let characters = 0;
  for await (const line of lines) {
    parts.push(line, "\n");
    characters += line.length;
    if (characters < CHUNK_CHARACTERS) continue;
    yield Buffer.from(parts.join(""));
    parts = [];
    characters = 0;
  }
  if (parts.length > 0) yield Buffer.from(parts.join(""));
}

/** A line and its number. `text` is null, and the last, for one that is not UTF-8, longer than a maximum, or not ended. */
export type Line = { text: string | null; number: number };

/** Splits chunks into lines. A line that is too long is not read to its end. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let number = 0;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      const rest = bytes.subarray(start, end);
      const line = waiting.length > 0 ? Buffer.concat([...waiting, rest]) : rest;
      waiting = [];
      waitingBytes = 0;
      start = end + 1;
      number += 1;
      const isValid = line.length <= maxBytes && isUtf8(line);
      yield { text: isValid ? line.toString() : null, number };
      if (!isValid) return;
    }
    if (start < bytes.length) waiting.push(bytes.subarray(start));
    waitingBytes += bytes.length - start;
    if (waitingBytes > maxBytes) return yield { text: null, number: number + 1 };
  }
  if (waitingBytes > 0) yield { text: null, number: number + 1 };
}

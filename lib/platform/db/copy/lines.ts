import { createHash } from "node:crypto";

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
export class TableSummary {
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

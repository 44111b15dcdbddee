import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";

const BLOCK_BYTES = 512;
/** The largest part of an archive that is unpacked to find a program in it. */
const MAX_UNPACKED_BYTES = 1024 ** 3;

/**
 * Yields the names of the files in a .tar.gz with at most the first `headBytes` of each (POSIX ustar).
 * @throws Error if it is not one
 */
export async function* readTarEntries(file: string, headBytes: number, range: { start?: number; end?: number } = {}) {
  const chunks = createReadStream(file, range).pipe(createGunzip());
  let pending = Buffer.alloc(0);
  let skip = 0;
  let unpacked = 0;
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    unpacked += chunk.length;
    if (unpacked > MAX_UNPACKED_BYTES) return;
    const skipped = Math.min(skip, chunk.length);
    skip -= skipped;
    if (skipped < chunk.length) pending = Buffer.concat([pending, chunk.subarray(skipped)]);
    while (pending.length >= BLOCK_BYTES) {
      const sizeBytes = Number.parseInt(text(pending, 124, 12).trim() || "0", 8);
      if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) return;
      const wanted = BLOCK_BYTES + Math.min(sizeBytes, headBytes);
      if (pending.length < wanted) break;
      const [name, prefix] = [text(pending, 0, 100), text(pending, 345, 155)];
      yield { name: prefix ? `${prefix}/${name}` : name, head: Buffer.from(pending.subarray(BLOCK_BYTES, wanted)) };
      const whole = BLOCK_BYTES + Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
      skip = Math.max(0, whole - pending.length);
      pending = pending.subarray(whole);
    }
  }
}

function text(block: Buffer, start: number, length: number): string {
  return block.toString("utf8", start, start + length).split("\0", 1)[0] ?? "";
}

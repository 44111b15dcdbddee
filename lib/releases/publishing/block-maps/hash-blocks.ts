import { createReadStream } from "node:fs";
import { blake2b } from "@noble/hashes/blake2.js";
import { blockEnd, MAX_BLOCK_BYTES } from "./block-boundaries";
import type { BlockMap } from "./block-map";

const CHUNK_BYTES = 1024 * 1024;
const CHECKSUM_BYTES = 18;

/** Receives the number of bytes that have been hashed. */
type OnBytes = (doneBytes: number) => void;

/** Makes the block map of a file: the same that electron-builder makes. */
export async function makeBlockMap(file: string, onBytes: OnBytes): Promise<BlockMap> {
  const [checksums, sizes]: [string[], number[]] = [[], []];
  let rest: Uint8Array = new Uint8Array();
  let doneBytes = 0;
  const cut = (bytes: Uint8Array, isLast: boolean) => {
    let at = 0;
    while (isLast ? at < bytes.length : bytes.length - at >= MAX_BLOCK_BYTES) {
      const end = blockEnd(bytes, at);
      checksums.push(checksumOf(bytes.subarray(at, end)));
      sizes.push(end - at);
      at = end;
    }
    doneBytes += at;
    onBytes(doneBytes);
    return bytes.subarray(at);
  };
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    rest = cut(Buffer.concat([rest, chunk as Uint8Array]), false);
  }
  cut(rest, true);
  return { version: "2", files: [{ name: "file", offset: 0, checksums, sizes }] };
}

/** Whether a block map is that of a file of `sizeBytes`: its blocks add up to them and have these checksums. */
export async function isBlockMapOf(
  { files: [{ checksums, sizes }] }: BlockMap,
  file: string,
  sizeBytes: number,
  onBytes: OnBytes,
): Promise<boolean> {
  if (sizes.reduce((sum, size) => sum + size, 0) !== sizeBytes) return false;
  let [block, missing, hash] = [0, sizes[0] ?? 0, newHash()];
  let doneBytes = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    for (let rest = chunk as Uint8Array; rest.length > 0; ) {
      const part = rest.subarray(0, missing);
      rest = rest.subarray(part.length);
      hash.update(part);
      missing -= part.length;
      if (missing > 0) break;
      if (toText(hash.digest()) !== checksums[block]) return false;
      block += 1;
      [missing, hash] = [sizes[block] ?? 0, newHash()];
    }
    doneBytes += (chunk as Uint8Array).length;
    onBytes(doneBytes);
  }
  return block === sizes.length;
}

const newHash = () => blake2b.create({ dkLen: CHECKSUM_BYTES });
const checksumOf = (block: Uint8Array) => toText(blake2b(block, { dkLen: CHECKSUM_BYTES }));
const toText = (checksum: Uint8Array) => Buffer.from(checksum).toString("base64");

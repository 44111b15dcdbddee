import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { blake2b } from "@noble/hashes/blake2.js";
import { z } from "zod";
import { CommandError } from "../../../errors";
import type { FileKind } from "../../schema";
import { invalidRelease } from "../invalid-release";
import type { OnProgress } from "./build-file";

/**
 * Content-defined blocks as electron-builder cuts them (go-rabin): a block ends where the Rabin fingerprint of its last 64
 * bytes ends in 14 ones, after 8 to 32 KiB. An insertion changes the blocks around it alone.
 */
const MAX_BLOCK_BYTES = 32 * 1024;
const MIN_BLOCK_BYTES = 8 * 1024;
const WINDOW_BYTES = 64;
const BOUNDARY_MASK = 16 * 1024 - 1;
/** An irreducible polynomial over GF(2). */
const POLYNOMIAL = 0xbfe6b8a5bf378d83n;
const DEGREE = 63;

/** 64-bit numbers by byte, as their upper and lower halves. */
type Table = { high: Int32Array; low: Int32Array };

function makeTable(entryOf: (byte: bigint) => bigint): Table {
  const entries = Array.from({ length: 256 }, (_, byte) => entryOf(BigInt(byte)));
  return {
    high: Int32Array.from(entries, (entry) => Number(BigInt.asIntN(32, entry >> 32n))),
    low: Int32Array.from(entries, (entry) => Number(BigInt.asIntN(32, entry))),
  };
}

/** The remainder of `value` · x^`shift` by the polynomial. */
function remainder(value: bigint, shift: number): bigint {
  let rest = value << BigInt(shift);
  for (let degree = shift + 7; degree >= DEGREE; degree--) {
    if ((rest >> BigInt(degree)) & 1n) rest ^= POLYNOMIAL << BigInt(degree - DEGREE);
  }
  return rest;
}

/** `shiftedOut` reduces the byte beyond the polynomial's degree; `oldest` is what the window's oldest one adds. */
type Tables = { shiftedOut: Table; oldest: Table };
let tables: Tables | undefined;

/** Made for the first file: most processes never publish one. */
function makeTables(): Tables {
  tables ??= {
    shiftedOut: makeTable((byte) => remainder(byte, DEGREE)),
    oldest: makeTable((byte) => remainder(byte, 8 * (WINDOW_BYTES - 1))),
  };
  return tables;
}

/** The end of the block at `start`, from where `bytes` have `MAX_BLOCK_BYTES`, unless they are the last of the file. */
function blockEnd(bytes: Uint8Array, start: number): number {
  const end = Math.min(start + MAX_BLOCK_BYTES, bytes.length);
  const scanned = start + MIN_BLOCK_BYTES;
  if (scanned > end) return end;
  const { shiftedOut, oldest } = makeTables();
  let [high, low] = [0, 0];
  for (let at = scanned - WINDOW_BYTES; at < end; at++) {
    if (at >= scanned) {
      const leaving = bytes[at - WINDOW_BYTES] ?? 0;
      high ^= oldest.high[leaving] ?? 0;
      low ^= oldest.low[leaving] ?? 0;
    }
    const out = (high >>> 23) & 0xff;
    const shifted = ((high << 8) | (low >>> 24)) & 0x7fffffff;
    high = shifted ^ (shiftedOut.high[out] ?? 0);
    low = ((low << 8) | (bytes[at] ?? 0)) ^ (shiftedOut.low[out] ?? 0);
    if (at >= scanned - 1 && (low & BOUNDARY_MASK) === BOUNDARY_MASK) return at + 1;
  }
  return end;
}

/** The most that a block map may have once it is decompressed: that of a file of 30 GiB. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** The blocks of a file as electron-builder describes them (app-builder-lib, blockmap.ts). */
export const BlockMap = z.object({
  version: z.literal("2"),
  files: z.tuple([
    z
      .object({
        name: z.literal("file"),
        offset: z.literal(0),
        /** BLAKE2b of 18 bytes, in base64. */
        checksums: z.array(z.string()),
        sizes: z.array(z.int().min(1)),
      })
      .refine(({ checksums, sizes }) => checksums.length === sizes.length, "Every checksum needs a size"),
  ]),
});
export type BlockMap = z.infer<typeof BlockMap>;

export const BLOCK_MAP_EXTENSION = ".blockmap";

export function serializeBlockMap(blockMap: BlockMap): Promise<Buffer> {
  return promisify(gzip)(JSON.stringify(blockMap), { level: 9 });
}

/** Parses a .blockmap file. @throws Error if it is not gzip, truncated, too large, or not a block map */
async function parseBlockMap(bytes: Uint8Array): Promise<BlockMap> {
  const json = await promisify(gunzip)(bytes, { maxOutputLength: MAX_JSON_BYTES });
  const parsed = BlockMap.safeParse(JSON.parse(json.toString()));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join(".")}: ${issue?.message}`);
}

const CHUNK_BYTES = 1024 * 1024;
const CHECKSUM_BYTES = 18;

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
async function isBlockMapOf(
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

/** A block map to store beside its file. `file` is where it was read from; null if it was made. */
export type NewBlockMap = { file: string | null; bytes: Uint8Array; sizeBytes: number; sha256: string };

/** A file to publish. `blockMapFile` is its block map if that is not beside it. */
type BuildFile = {
  file: string;
  fileName: string;
  sizeBytes: number;
  kinds: readonly FileKind[];
  destination?: { kind: string } | undefined;
  blockMapFile?: string | undefined;
};

/** The files of which electron-updater downloads parts. An AppImage has its block map inside. */
const WITH_BLOCK_MAP = /\.(exe|zip)$/i;
/** A smaller file is downloaded whole as fast as two block maps and its changed blocks. */
const MIN_FILE_BYTES = 512 * 1024;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * A file's block map: the one that is named or beside it, else a new one. null for files that need none, and instead of
 * a new one for a small file or one at a URL. @throws AppError if it is damaged, or that of another file
 */
export async function findBlockMap(build: BuildFile, onProgress?: OnProgress): Promise<NewBlockMap | null> {
  const { file, fileName, sizeBytes, kinds, destination, blockMapFile } = build;
  const onBytes = (doneBytes: number) => onProgress?.("Hashing", doneBytes, sizeBytes);
  if (blockMapFile === undefined && (kinds.includes("delta") || !WITH_BLOCK_MAP.test(fileName))) return null;
  const beside = `${file}${BLOCK_MAP_EXTENSION}`;
  const from = blockMapFile ?? ((await exists(beside)) ? beside : undefined);
  if (from === undefined && (sizeBytes < MIN_FILE_BYTES || destination?.kind === "url")) return null;
  const bytes = from
    ? await readBlockMap(from, build, onBytes)
    : await serializeBlockMap(await makeBlockMap(file, onBytes));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file: from ?? null, bytes, sizeBytes: bytes.byteLength, sha256 };
}

async function readBlockMap(from: string, { file, sizeBytes }: BuildFile, onBytes: (doneBytes: number) => void) {
  const bytes = await readSmallFile(from);
  const blockMap = await parseBlockMap(bytes).catch((error: Error) => {
    throw invalidRelease(`${from} is not a block map: ${error.message}.`);
  });
  if (await isBlockMapOf(blockMap, file, sizeBytes, onBytes)) return bytes;
  throw invalidRelease(
    `${from} is the block map of another file than ${file}: updates would fail. Build it again, or delete it and a new one is made.`,
  );
}

async function readSmallFile(file: string): Promise<Buffer> {
  const stats = await stat(file).catch((error: Error) => {
    throw new CommandError("file_unreadable", `${file} cannot be read: ${error.message}`);
  });
  if (stats.isFile() && stats.size <= MAX_FILE_BYTES) return readFile(file);
  throw invalidRelease(`${file} is not a block map: it is a folder, or larger than 64 MiB.`);
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => null)) !== null;
}

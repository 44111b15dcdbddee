/**
 * Content-defined blocks as electron-builder cuts them (go-rabin): a block ends where the Rabin fingerprint of its last 64
 * bytes ends in 14 ones, after 8 to 32 KiB. An insertion changes the blocks around it alone.
 */
export const MAX_BLOCK_BYTES = 32 * 1024;
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

/**
 * `shiftedOut` reduces the byte that a shift moves beyond the polynomial's degree. `oldest` is what the window's oldest byte
 * contributes to a fingerprint.
 */
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

/**
 * The end of the block that begins at `start`. `bytes` must have `MAX_BLOCK_BYTES` from there, unless they are the last
 * ones of the file.
 */
export function blockEnd(bytes: Uint8Array, start: number): number {
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

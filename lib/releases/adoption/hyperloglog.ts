import { hash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";

/** 2^14 registers: the standard error is 1.04 / √16,384 = 0.8%. */
const PRECISION = 14;
const REGISTERS = 2 ** PRECISION;
/** The bits of the hash of which a register keeps the position of the first 1: at most 33. */
const RANK_BITS = 32;

/** Counts distinct items in 16 KiB, from which no item can be read. A register has the largest rank (HyperLogLog). */
export type Sketch = Uint8Array;

/** The 64 bits of a hash that a sketch uses. */
export type ItemHash = { high: number; low: number };

export function createSketch(): Sketch {
  return new Uint8Array(REGISTERS);
}

/** Hashes an item with a secret salt, so that nobody can choose items that fall to one register. */
export function hashItem(salt: string, item: string): ItemHash {
  const digest = hash("sha256", salt + item);
  return { high: Number.parseInt(digest.slice(0, 8), 16), low: Number.parseInt(digest.slice(8, 16), 16) };
}

export function addToSketch(sketch: Sketch, { high, low }: ItemHash): void {
  const index = high >>> (32 - PRECISION);
  const rank = Math.clz32(low) + 1;
  if (rank > (sketch[index] ?? 0)) sketch[index] = rank;
}

/** Adds the items of another sketch. Returns whether this one has changed. */
export function mergeSketch(into: Sketch, from: Sketch): boolean {
  let isChanged = false;
  for (const [i, rank] of from.entries()) {
    if (rank <= (into[i] ?? 0)) continue;
    into[i] = rank;
    isChanged = true;
  }
  return isChanged;
}

/**
 * The number of distinct items: the estimator of Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog
 * sketches" (2017), Algorithm 6. It has no bias at any size, so it needs neither tables nor a switch to linear counting.
 */
export function estimateCount(sketch: Sketch): number {
  const histogram = new Uint32Array(RANK_BITS + 2);
  for (const rank of sketch) histogram[rank] = (histogram[rank] ?? 0) + 1;
  const share = (rank: number) => (histogram[rank] ?? 0) / REGISTERS;
  let z = REGISTERS * tau(1 - share(RANK_BITS + 1));
  for (let rank = RANK_BITS; rank >= 1; rank--) z = 0.5 * (z + REGISTERS * share(rank));
  z += REGISTERS * sigma(share(0));
  return Math.round((REGISTERS * REGISTERS) / (2 * Math.LN2 * z));
}

/** x + Σ x^(2^k) · 2^(k-1), for the share of empty registers. */
function sigma(share: number): number {
  if (share === 1) return Number.POSITIVE_INFINITY;
  let [x, weight, sum] = [share, 1, share];
  for (let before = -1; before !== sum; ) {
    before = sum;
    x *= x;
    sum += x * weight;
    weight += weight;
  }
  return sum;
}

/** (1 - x - Σ (1 - x^(2^-k))² · 2^-k) / 3, for the share of registers that are not full. */
function tau(share: number): number {
  if (share === 0 || share === 1) return 0;
  let [x, weight, sum] = [share, 1, 1 - share];
  for (let before = -1; before !== sum; ) {
    before = sum;
    x = Math.sqrt(x);
    weight *= 0.5;
    sum -= (1 - x) ** 2 * weight;
  }
  return sum / 3;
}

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Compresses a sketch, on a thread: a few clients need a few dozen bytes, a million 7 KiB. */
export async function packSketch(sketch: Sketch): Promise<Buffer> {
  return deflate(sketch, { level: 1 });
}

/** @throws Error for bytes that `packSketch` has not made */
export async function unpackSketch(packed: Uint8Array): Promise<Sketch> {
  const sketch = await inflate(packed, { maxOutputLength: REGISTERS });
  if (sketch.length !== REGISTERS) throw new Error("A stored sketch has an unexpected size");
  return sketch;
}

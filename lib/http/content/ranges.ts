/** Byte positions, both included. */
export type ByteRange = { first: number; last: number };

/**
 * Parses a Range header with a single byte range (RFC 9110, section 14.1.2). Returns null if the header is to be
 * ignored: several ranges, a malformed one, or another unit. Returns "unsatisfiable" if the range lies outside the
 * `sizeBytes`.
 */
export function parseRange(header: string, sizeBytes: number): ByteRange | "unsatisfiable" | null {
  const [, rangeSet] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? [];
  const ranges = (rangeSet ?? "").split(",").flatMap((range) => range.trim() || []);
  const [, from, to] = (ranges.length === 1 && /^(\d*)-(\d*)$/.exec(ranges[0] ?? "")) || [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  // Number() turns positions of any length into at most Infinity, which lies outside every file.
  if (from === "") return Number(to) === 0 ? "unsatisfiable" : lastBytes(Number(to), sizeBytes);
  if (to !== "" && Number(to) < Number(from)) return null;
  if (Number(from) >= sizeBytes) return "unsatisfiable";
  return { first: Number(from), last: to === "" ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1) };
}

function lastBytes(count: number, sizeBytes: number): ByteRange {
  return { first: Math.max(0, sizeBytes - count), last: sizeBytes - 1 };
}

import type { ByteRange } from "../../response-content";

/** electron-updater sends up to 500 in one request. Each costs a part of the response. */
const MAX_RANGES = 512;

/**
 * Parses a Range header (RFC 9110, section 14.1.2) to the ranges to send, in the order of the request. Ranges outside
 * the `sizeBytes` are left out; those that overlap or adjoin are merged. Returns null if the header is to be ignored:
 * a malformed range, or another unit. Returns "unsatisfiable" if no range lies in the file, and for more than 512
 * ranges (section 15.5.17, "an excessive request of small or overlapping ranges").
 */
export function parseRanges(header: string, sizeBytes: number): ByteRange[] | "unsatisfiable" | null {
  const [, rangeSet] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? [];
  const specs = (rangeSet ?? "").split(",").flatMap((spec) => spec.trim() || []);
  if (specs.length === 0) return null;
  if (specs.length > MAX_RANGES) return "unsatisfiable";
  const ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseRange(spec, sizeBytes);
    if (range === null) return null;
    if (range !== "unsatisfiable") ranges.push(range);
  }
  return ranges.length === 0 ? "unsatisfiable" : mergeRanges(ranges);
}

function parseRange(spec: string, sizeBytes: number): ByteRange | "unsatisfiable" | null {
  const [, from, to] = /^(\d*)-(\d*)$/.exec(spec) ?? [];
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

/** A merged range has the place of the first of its ranges (RFC 9110, section 15.3.7.2). */
function mergeRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const ascending = ranges.map((range, place) => ({ ...range, place })).sort((a, b) => a.first - b.first);
  const merged: typeof ascending = [];
  for (const range of ascending) {
    const previous = merged.at(-1);
    if (!previous || range.first > previous.last + 1) {
      merged.push(range);
      continue;
    }
    previous.last = Math.max(previous.last, range.last);
    previous.place = Math.min(previous.place, range.place);
  }
  return merged.sort((a, b) => a.place - b.place).map(({ first, last }) => ({ first, last }));
}

/** The request's headers that decide how much of a file is sent, as they came. */
export type Conditions = {
  /** A HEAD has no ranges (RFC 9110, 14.2). */
  head: boolean;
  range: string | null;
  ifRange: string | null;
  ifMatch: string | null;
  ifUnmodifiedSince: string | null;
  ifNoneMatch: string | null;
  ifModifiedSince: string | null;
};

/** What tells one state of a resource from another (RFC 9110, 8.8). `etag` is strong and quoted; null: no date is known. */
export type Validators = { etag: string; modifiedAt: Date | null };

/** Byte positions, both included. */
export type Range = { first: number; last: number };

/** Whether If-None-Match names the entity tag, by weak comparison (RFC 9110, 13.1.2). */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch.match(/"[\x21\x23-\x7e\x80-\xff]*"/g)?.includes(etag) ?? false;
}

/** Whether the file is what the caller insists on (RFC 9110, 13.2.2): If-Match, else If-Unmodified-Since. */
export function meetsPreconditions(conditions: Conditions, { etag, modifiedAt }: Validators): boolean {
  if (conditions.ifMatch !== null) return matchesStrongly(conditions.ifMatch, etag);
  const since = httpDate(conditions.ifUnmodifiedSince);
  return since === null || modifiedAt === null || wholeSeconds(modifiedAt) <= since;
}

/** If-Match (RFC 9110, 13.1.1): by strong comparison, so that `W/"…"` matches nothing. */
function matchesStrongly(ifMatch: string, etag: string): boolean {
  if (ifMatch.trim() === "*") return true;
  return ifMatch.match(/(W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g)?.includes(etag) ?? false;
}

/** Whether the caller's copy is good still (RFC 9110, 13.2.2): If-None-Match, else If-Modified-Since. */
export function isNotModified(conditions: Conditions, { etag, modifiedAt }: Validators): boolean {
  if (conditions.ifNoneMatch !== null) return matchesEtag(conditions.ifNoneMatch, etag);
  const since = httpDate(conditions.ifModifiedSince);
  return since !== null && modifiedAt !== null && wholeSeconds(modifiedAt) <= since;
}

/**
 * The range to send (RFC 9110, 14): null is the whole, as for several ranges, a malformed one, another unit, or
 * an If-Range that does not match; "unsatisfiable" where a single range lies outside the `sizeBytes`.
 */
export function chooseRange(
  conditions: Conditions,
  validators: Validators,
  sizeBytes: number,
): Range | "unsatisfiable" | null {
  if (conditions.head || conditions.range === null) return null;
  if (conditions.ifRange !== null && !isUnchanged(conditions.ifRange, validators)) return null;
  const [, spec] = /^\s*bytes\s*=(.*)$/i.exec(conditions.range) ?? [];
  const ranges = (spec ?? "").split(",").flatMap((one) => one.trim() || []);
  const [, from, to] = (ranges.length === 1 && /^(\d*)-(\d*)$/.exec(ranges[0] ?? "")) || [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  // Numbers may have any length: too large ones become Infinity, which lies outside every file.
  if (from === "") return Number(to) === 0 ? "unsatisfiable" : suffix(Number(to), sizeBytes);
  if (to !== "" && Number(to) < Number(from)) return null;
  if (Number(from) >= sizeBytes) return "unsatisfiable";
  return { first: Number(from), last: to === "" ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1) };
}

function suffix(lengthBytes: number, sizeBytes: number): Range {
  return { first: Math.max(0, sizeBytes - lengthBytes), last: sizeBytes - 1 };
}

/** If-Range (RFC 9110, 13.1.5): an entity tag by strong comparison, or exactly the date last sent. */
function isUnchanged(ifRange: string, { etag, modifiedAt }: Validators): boolean {
  const value = ifRange.trim();
  if (value.endsWith('"')) return value === etag;
  return modifiedAt !== null && httpDate(value) === wholeSeconds(modifiedAt);
}

/** The three forms of RFC 9110, 5.6.7, in milliseconds; null for anything else. */
function httpDate(value: string | null): number | null {
  if (value === null || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value)) return null;
  const time = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(time) ? null : time;
}

/** HTTP's dates have no fractions of a second. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000;
}

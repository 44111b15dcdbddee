import { AppError } from "../../../errors";
import { type RequestHead, RouteResponse } from "../../http-message";
import type { Precondition } from "../../precondition";

type Headers = RequestHead["headers"];

/** A resource's validators (RFC 9110, section 8.8). `etag` is strong and quoted; `modifiedAt` is null if unknown. */
export type Validators = { etag: string; modifiedAt: Date | null };

/**
 * Evaluates If-Match, or If-Unmodified-Since in its absence (RFC 9110, section 13.2.2).
 * @throws AppError precondition_failed
 */
export function assertPreconditions(headers: Headers, { etag, modifiedAt }: Validators): void {
  const ifMatch = headers.get("if-match");
  const since = ifMatch === null ? parseHttpDate(headers.get("if-unmodified-since")) : null;
  const isMet =
    ifMatch === null
      ? since === null || modifiedAt === null || toWholeSeconds(modifiedAt) <= since
      : matchesStrongly(ifMatch, etag);
  if (!isMet) throw new AppError("precondition_failed", { headers: { ETag: etag } });
}

/** Evaluates If-None-Match, or If-Modified-Since in its absence (RFC 9110, section 13.2.2). */
export function isNotModified(headers: Headers, { etag, modifiedAt }: Validators): boolean {
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch !== null) return matchesWeakly(ifNoneMatch, etag);
  if (modifiedAt === null) return false;
  const since = parseHttpDate(headers.get("if-modified-since"));
  return since !== null && toWholeSeconds(modifiedAt) <= since;
}

/** Evaluates If-Range (RFC 9110, section 13.1.5): a strong match of the entity tag, or exactly the date last sent. */
export function matchesIfRange(ifRange: string, { etag, modifiedAt }: Validators): boolean {
  const value = ifRange.trim();
  if (value.endsWith('"')) return value === etag;
  return modifiedAt !== null && parseHttpDate(value) === toWholeSeconds(modifiedAt);
}

/** If-None-Match compares weakly (RFC 9110, section 13.1.2). */
function matchesWeakly(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch.match(/"[\x21\x23-\x7e\x80-\xff]*"/g)?.includes(etag) ?? false;
}

/** If-Match compares strongly (RFC 9110, section 13.1.1): `W/"…"` matches nothing. */
function matchesStrongly(ifMatch: string, etag: string): boolean {
  if (ifMatch.trim() === "*") return true;
  return ifMatch.match(/(W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g)?.includes(etag) ?? false;
}

/** Parses the three date formats of RFC 9110, section 5.6.7, to milliseconds; null for anything else. */
function parseHttpDate(value: string | null): number | null {
  if (value === null || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value)) return null;
  const time = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(time) ? null : time;
}

/** HTTP dates have no fractions of a second. */
function toWholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000;
}

/** A response with the state that a change may require, as its `ETag`. */
export function withState(body: unknown, state: string): RouteResponse<unknown> {
  return new RouteResponse(200, body, { ETag: quoted(state) });
}

/** The response to a change, or to its dry run, which has a state. */
export function withSeenState<T>({ result, state }: { result: T; state: string | null }) {
  return state === null ? result : withState(result, state);
}

/** `If-Match` of a change: the `ETag` of what the caller has seen, such as a preview. undefined: anything may have changed. */
export function ifMatch({ headers }: RequestHead): Precondition | undefined {
  const given = headers.get("if-match");
  if (given === null) return undefined;
  const check = (state: string) => {
    if (matchesStrongly(given, quoted(state))) return;
    const detail = "Something has changed since: read or preview it again.";
    throw new AppError("precondition_failed", { detail, headers: { ETag: quoted(state) } });
  };
  return { check };
}

const quoted = (state: string) => `"${state}"`;

import { v7 } from "uuid";
import { z } from "zod";

/**
 * Returns an id for a row that raw SQL inserts: a version 7 UUID (RFC 9562, section 5.7) with the process's current
 * time, or the time `at`. Ids sort by time, so an index grows at its end. Prisma generates such ids for its own
 * INSERTs.
 */
export function newId(at?: Date): string {
  return at ? v7({ msecs: at.getTime() }) : v7();
}

/** Returns the time at which a version 7 UUID was created, in milliseconds. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.replace("-", "").slice(0, 12), 16));
}

/** Returns the smallest version 7 UUID of a millisecond. */
export function firstIdAt(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

const Id = z.uuid();
const UUID_LENGTH = 36;

/**
 * The nil and max UUIDs (RFC 9562, sections 5.9 and 5.10), which are the id of no row. They are before and after every id:
 * bounds of the first page or batch, which an index then serves like the others.
 */
export const NIL_ID = "00000000-0000-0000-0000-000000000000";
export const MAX_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Returns the id that a cursor names, or a bound. */
export function idOr(bound: string, after: string | null): string {
  return after !== null && isUuid(after) ? after : bound;
}

/** Returns whether a string is a UUID (RFC 9562), in lower or upper case. */
export function isUuid(text: string): boolean {
  return text.length === UUID_LENGTH && Id.safeParse(text).success; // a failed parse is slow
}

import { z } from "zod";

const FIRST = Date.parse("0001-01-01T00:00:00Z");
const END = Date.parse("+010000-01-01T00:00:00Z");

/** Whether PostgreSQL and RFC 3339 can write a time: it is in the years 1 to 9999. */
export function isStorableTime(time: Date): boolean {
  return time.getTime() >= FIRST && time.getTime() < END;
}

export const NOT_STORABLE = "Must be in the years 1 to 9999";

/** A time as clients send it (RFC 3339). */
export const Time = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine(isStorableTime, NOT_STORABLE);

export const NOT_UTC_TEXT = "Must be a time such as 2026-11-22T09:00";

/** A time in UTC as `datetime-local` inputs send it, to the minute. `parseUtc` reads it. */
export const UtcText = z.iso
  .datetime({ local: true, message: NOT_UTC_TEXT })
  .refine((text) => isStorableTime(parseUtc(text)), NOT_STORABLE);

export const parseUtc = (text: string): Date => new Date(text.endsWith("Z") ? text : `${text}Z`);

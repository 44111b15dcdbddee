import { z } from "zod";

const REPLACEMENT_CHARACTER = "\uFFFD";

/** Whether PostgreSQL can store a text: UTF-8 encodes no lone surrogates, and PostgreSQL's `text` and `jsonb` no NUL. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** A text that PostgreSQL can store. */
export const StorableText = z.string().refine(isStorableText, "Must not contain NUL or lone surrogates");

/** NUL, or half of a surrogate pair, as JSON.stringify writes it. */
const NOT_STORABLE_IN_JSON = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** Whether PostgreSQL can store a JSON value: its texts, and the names of its fields. */
export function isStorableJson(value: unknown): boolean {
  return !NOT_STORABLE_IN_JSON.test(JSON.stringify(value));
}

/** Replaces what PostgreSQL cannot store, NUL and lone surrogates, with U+FFFD. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", REPLACEMENT_CHARACTER);
}

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

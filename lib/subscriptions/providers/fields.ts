import { z } from "zod";
import { AppError } from "../../errors";

const TEXT_LENGTH = 255;
const MOST_ENTITLEMENTS = 100;
const MOST_HOURS_AHEAD = 24;
const HOUR_MS = 60 * 60 * 1000;
const LAST_STORABLE_MS = Date.UTC(9999, 11, 31);

/** Each of these reads what it can: anything missing or of another kind counts as absent. */
export const Text = z.string().min(1).max(TEXT_LENGTH).nullable().catch(null);
/** A list of texts; undefined where it is missing, null where it is said to be none. */
export const OptionalTexts = z
  .array(Text)
  .transform((texts) => texts.filter((text) => text !== null))
  .nullish()
  .catch(undefined);
export const Texts = OptionalTexts.transform((texts) => texts ?? null);
export const Numeric = z.number().nullable().catch(null);
export const Flag = z.boolean().nullable().catch(null);

/** An event's id. This one has to be there. */
export const EventId = z.string().min(1).max(TEXT_LENGTH);

/** Holds a value against a schema. @throws AppError validation_failed, with each fault */
export function requireFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new AppError("validation_failed", {
    errors: parsed.error.issues.map(({ path, code, message }) => ({
      pointer: path.map((step) => `/${String(step)}`).join(""),
      code,
      detail: message,
    })),
  });
}

/** A time from milliseconds since 1970, held within what databases and RFC 3339 can write. */
export function time(ms: number | null): Date | null {
  return ms === null || Number.isNaN(ms) ? null : new Date(Math.min(Math.max(ms, 0), LAST_STORABLE_MS));
}

/** A time that has been: one that lies more than a day ahead is absurd and counts as the receipt's. */
export function pastTime(ms: number | null, receivedAt: Date): Date | null {
  const latestMs = receivedAt.getTime() + MOST_HOURS_AHEAD * HOUR_MS;
  return ms !== null && ms > latestMs ? receivedAt : time(ms);
}

/** Entitlements once each: none where the list is null, null where it is missing and so says nothing. */
export function entitlements(ids: string[] | null | undefined): string[] | null {
  return ids === undefined ? null : [...new Set(ids)].slice(0, MOST_ENTITLEMENTS);
}

/** Google Play numbers renewals: `GPA.1234..0` belongs to `GPA.1234`. */
export function withoutRenewalNumber(store: string | null, transactionId: string | null): string | null {
  return store === "PLAY_STORE" ? (transactionId?.replace(/\.\.\d+$/, "") ?? null) : transactionId;
}

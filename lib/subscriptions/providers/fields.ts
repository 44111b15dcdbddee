import { z } from "zod";
import { AppError } from "../../errors";
import { fieldMessage } from "../../platform/field-message";
import type { Products } from "./provider";

const MAX_TEXT_LENGTH = 255;
const MAX_ENTITLEMENTS = 100;
const MAX_AHEAD_HOURS = 24;
const HOUR_MS = 60 * 60 * 1000;
const LAST_STORABLE_MS = Date.UTC(9999, 11, 31);

/** These schemas never fail: a value that is missing or of another type is read as null. */
export const OptionalText = z.string().min(1).max(MAX_TEXT_LENGTH).nullable().catch(null);
/** A list of texts; undefined if it is missing, null if it is null. */
export const OptionalTexts = z
  .array(OptionalText)
  .transform((texts) => texts.filter((text) => text !== null))
  .nullish()
  .catch(undefined);
export const NullableTexts = OptionalTexts.transform((texts) => texts ?? null);
export const OptionalNumber = z.number().nullable().catch(null);
export const OptionalBoolean = z.boolean().nullable().catch(null);

const WITHOUT_OFFSET = /T[\d:.]+$/;

/** An RFC 3339 time in milliseconds since 1970, in UTC if it has no offset; null for anything else. */
export const Rfc3339Ms = z
  .string()
  .transform((text) => Date.parse(WITHOUT_OFFSET.test(text) ? `${text}Z` : text))
  .transform((ms) => (Number.isNaN(ms) ? null : ms))
  .nullable()
  .catch(null);

/** The first of some fields that is neither missing nor null and that `schema` reads as null. */
export function findInvalid(value: Record<string, unknown>, names: readonly string[], schema: z.ZodType) {
  return names.find((name) => value[name] != null && schema.parse(value[name]) === null) ?? null;
}

/** An amount in a currency's lowest unit, as text: a number may lose digits. Null for anything else. */
export const OptionalAmount = z
  .string()
  .regex(/^\d{1,30}$/)
  .nullable()
  .catch(null);

/** An object or a list; null if it is missing or of another type. */
export const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().catch(null);

/** An event's id, which is required. */
export const EventId = z.string().min(1).max(MAX_TEXT_LENGTH);

/** Parses a value. @throws AppError validation_failed, with each error */
export function requireFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  throw new AppError("validation_failed", {
    errors: parsed.error.issues.map(({ path, code, message }) => ({
      pointer: path.map((step) => `/${String(step)}`).join(""),
      code,
      detail: message,
    })),
  });
}

/** Converts milliseconds since 1970, limited to the range of PostgreSQL and RFC 3339. */
export function toDate(ms: number | null): Date | null {
  return ms === null || Number.isNaN(ms) ? null : new Date(Math.min(Math.max(ms, 0), LAST_STORABLE_MS));
}

/** Converts the time of a past event. A time more than 24 hours ahead is invalid and replaced by `receivedAt`. */
export function toPastDate(ms: number | null, receivedAt: Date): Date | null {
  const latestMs = receivedAt.getTime() + MAX_AHEAD_HOURS * HOUR_MS;
  return ms !== null && ms > latestMs ? receivedAt : toDate(ms);
}

/** Removes duplicates from entitlement ids. A null list means none; a missing list means unchanged, which is null. */
export function entitlements(ids: string[] | null | undefined): string[] | null {
  return ids === undefined ? null : [...new Set(ids)].slice(0, MAX_ENTITLEMENTS);
}

/** Google Play numbers renewals: `GPA.1234..0` belongs to `GPA.1234`. */
export function withoutRenewalNumber(store: string | null, transactionId: string | null): string | null {
  return store === "PLAY_STORE" ? (transactionId?.replace(/\.\.\d+$/, "") ?? null) : transactionId;
}

/** The field `entitlements` of a provider's metadata: ids in a text, separated by commas, or in an array. */
export const EntitlementsField = z
  .union([z.string().transform((text) => text.split(",").map((id) => id.trim())), z.array(z.string())])
  .transform((ids) => ids.filter((id) => id.length > 0 && id.length <= 255))
  .nullable()
  .catch(null);

/** What was sold. `ids`: the provider's price, then its product. */
export type SoldItem = { ids: (string | null)[]; metadataEntitlementIds: string[] | null };

/**
 * Returns the entitlements of what was sold: those that `BILLING_PRODUCTS` gives the price, else the product, else those of
 * the provider's metadata.
 */
export function entitlementsOf(products: Products, items: SoldItem[]): string[] {
  const ids = items.flatMap((item) => {
    const configured = item.ids.map((id) => products.get(id ?? "")).find((found) => found !== undefined);
    return configured ?? item.metadataEntitlementIds ?? [];
  });
  return entitlements(ids) ?? [];
}

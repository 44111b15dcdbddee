import { z } from "zod";
import { AppError } from "../../errors";
import type { EventFacts, ProviderEvent } from "../events";
import { normalizeIdentities } from "../linking";
import type { Provider } from "./provider";
import { authenticateRevenueCat } from "./revenuecat-authenticity";

const TEXT_LENGTH = 255;
const DAY_MS = 24 * 60 * 60 * 1000;
const LAST_STORABLE_MS = Date.UTC(9999, 11, 31);
const MOST_ENTITLEMENTS = 100;

/** Each reads what it can: anything missing or of another kind counts as absent. */
const Text = z.string().min(1).max(TEXT_LENGTH).nullable().catch(null);
const Texts = z
  .array(Text)
  .transform((texts) => texts.filter((text) => text !== null))
  .nullable()
  .catch(null);
const Numeric = z.number().nullable().catch(null);
const Flag = z.boolean().nullable().catch(null);

const Envelope = z.object({ event: z.object({ id: z.string().min(1).max(TEXT_LENGTH) }).loose() });

/** RevenueCat, "Webhooks", Event Types and Fields. */
const RevenueCatEvent = z.object({
  id: z.string(),
  type: Text,
  environment: Text,
  store: Text,
  app_user_id: Text,
  original_app_user_id: Text,
  aliases: Texts,
  event_timestamp_ms: Numeric,
  purchased_at_ms: Numeric,
  expiration_at_ms: Numeric,
  grace_period_expiration_at_ms: Numeric,
  auto_resume_at_ms: Numeric,
  transaction_id: Text,
  original_transaction_id: Text,
  product_id: Text,
  new_product_id: Text,
  entitlement_id: Text,
  entitlement_ids: Texts,
  period_type: Text,
  is_family_share: Flag,
  cancel_reason: Text,
  expiration_reason: Text,
  price: Numeric,
});
type RevenueCatEvent = z.infer<typeof RevenueCatEvent>;

/** RevenueCat's webhooks. */
export const revenueCat: Provider = { name: "revenuecat", authenticate: authenticateRevenueCat, read };

function read(body: unknown, receivedAt: Date): ProviderEvent {
  const envelope = Envelope.safeParse(body);
  if (!envelope.success) {
    throw new AppError("validation_failed", {
      errors: envelope.error.issues.map(({ path, code, message }) => ({
        pointer: path.map((step) => `/${String(step)}`).join(""),
        code,
        detail: message,
      })),
    });
  }
  const event = RevenueCatEvent.parse(envelope.data.event);
  const { app_user_id: appUserId, original_app_user_id: originalAppUserId, aliases } = event;
  const names = [appUserId, originalAppUserId, ...(aliases ?? [])].filter((name) => name !== null);
  return {
    id: event.id,
    type: event.type ?? "UNKNOWN",
    environment: event.environment,
    store: event.store,
    originalTransactionId: originalTransactionId(event),
    appUserId,
    identities: normalizeIdentities(names.filter((name) => !name.startsWith("$RCAnonymousID:"))),
    facts: facts(event, receivedAt),
  };
}

function facts(event: RevenueCatEvent, receivedAt: Date): EventFacts {
  return {
    occurredAt: pastTime(event.event_timestamp_ms, receivedAt) ?? receivedAt,
    purchasedAt: pastTime(event.purchased_at_ms, receivedAt),
    expiresAt: time(event.expiration_at_ms),
    gracePeriodEndsAt: time(event.grace_period_expiration_at_ms),
    resumesAt: time(event.auto_resume_at_ms),
    productId: event.product_id,
    newProductId: event.new_product_id,
    entitlementIds: entitlementIds(event),
    periodType: event.period_type,
    isFamilyShare: event.is_family_share,
    cancelReason: event.cancel_reason,
    expirationReason: event.expiration_reason,
    isRefund: event.price !== null && event.price < 0,
  };
}

/** A first purchase is its own original. Google Play numbers renewals: `GPA.1234..0` belongs to `GPA.1234`. */
function originalTransactionId(event: RevenueCatEvent): string | null {
  const id = event.original_transaction_id ?? event.transaction_id;
  return event.store === "PLAY_STORE" ? (id?.replace(/\.\.\d+$/, "") ?? null) : id;
}

function entitlementIds({ entitlement_ids: ids, entitlement_id: id }: RevenueCatEvent): string[] | null {
  const all = ids ?? (id === null ? null : [id]);
  return all && [...new Set(all)].slice(0, MOST_ENTITLEMENTS);
}

/** A time from milliseconds since 1970, held within what databases and RFC 3339 can write. */
function time(ms: number | null): Date | null {
  return ms === null ? null : new Date(Math.min(Math.max(ms, 0), LAST_STORABLE_MS));
}

/** A time that has been: one that lies more than a day ahead is absurd and counts as the receipt's. */
function pastTime(ms: number | null, receivedAt: Date): Date | null {
  return ms !== null && ms > receivedAt.getTime() + DAY_MS ? receivedAt : time(ms);
}

import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Config } from "../../config";
import { isAnonymous, normalizeAppUserIds } from "../app-user-ids";
import type { EventFacts, ProviderEvent } from "../events";
import { isOneOf, isRecent, requireAuthentic } from "./authenticity";
import {
  EventId,
  entitlements,
  Flag,
  Numeric,
  OptionalTexts,
  pastTime,
  requireFields,
  Text,
  Texts,
  time,
  withoutRenewalNumber,
} from "./fields";
import type { Delivery, Provider } from "./provider";

const Envelope = z.object({ event: z.object({ id: EventId }).loose() });

/** RevenueCat, "Webhooks", Event Types and Fields. */
const RevenueCatEvent = z.object({
  type: Text,
  environment: Text,
  store: Text,
  app_user_id: Text,
  original_app_user_id: Text,
  aliases: Texts,
  transferred_from: Texts,
  transferred_to: Texts,
  redeemed_from: Texts,
  redeemed_by: Texts,
  redemption_outcome: Text,
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
  entitlement_ids: OptionalTexts,
  period_type: Text,
  is_family_share: Flag,
  cancel_reason: Text,
  expiration_reason: Text,
  price: Numeric,
});
type RevenueCatEvent = z.infer<typeof RevenueCatEvent>;

/** RevenueCat's webhooks. */
export const revenueCat: Provider = {
  name: "revenuecat",
  authenticate: (config: Config, delivery: Delivery, now: Date) =>
    requireAuthentic(config, delivery, (secret) => isSigned(secret, delivery, now)),
  eventId: (body) => requireFields(Envelope, body).event.id,
  withoutAttributes: (body) => {
    const { event, ...envelope } = requireFields(Envelope.loose(), body);
    const { subscriber_attributes: _, ...kept } = event;
    return { ...envelope, event: kept };
  },
  read,
};

/** `X-RevenueCat-Webhook-Signature: t=<unix seconds>,v1=<hex>[,v1=…]`, HMAC-SHA256 over `<t>.<body>`. */
function isSigned(secret: string, { raw, headers }: Delivery, now: Date): boolean {
  const fields = (headers.get("x-revenuecat-webhook-signature") ?? "").split(",").map((field) => field.trim());
  const at = fields.find((field) => field.startsWith("t="))?.slice(2);
  if (!isRecent(at, now)) return false;
  const expected = createHmac("sha256", secret).update(`${at}.`).update(raw).digest("hex");
  const given = fields.filter((field) => field.startsWith("v1=")).map((field) => field.slice(3).toLowerCase());
  return isOneOf(given, expected);
}

function read(body: unknown, receivedAt: Date): ProviderEvent {
  const event = RevenueCatEvent.parse(requireFields(Envelope, body).event);
  const { store, transaction_id: transactionId } = event;
  const isTemporary = event.type === "TEMPORARY_ENTITLEMENT_GRANT";
  const people = customers(event);
  return {
    type: event.type ?? "UNKNOWN",
    // A temporary grant names no environment: it is not among the fields that RevenueCat guarantees.
    environment: event.environment ?? (isTemporary ? "PRODUCTION" : null),
    store,
    // A first purchase is its own original. So is a temporary grant, until the purchase is validated.
    originalTransactionId: withoutRenewalNumber(
      store,
      isTemporary ? transactionId : (event.original_transaction_id ?? transactionId),
    ),
    transactionId,
    appUserId: people.names[0] ?? null,
    appUserIds: normalizeAppUserIds([...people.names, ...people.from]),
    transferredFrom: normalizeAppUserIds(people.from.filter((name) => !people.names.includes(name))),
    facts: { ...facts(event, receivedAt), identityChange: people.change },
  };
}

type Customers = { names: string[]; from: string[]; change: EventFacts["identityChange"] };

/** Whom an event names. A redemption whose outcome is neither changes nothing: the redeemer owned it already. */
function customers(event: RevenueCatEvent): Customers {
  const { app_user_id, original_app_user_id, aliases } = event;
  const names = [app_user_id, original_app_user_id, ...(aliases ?? [])].filter((name) => name !== null);
  const by = event.redeemed_by ?? [];
  const from = event.redeemed_from ?? [];
  switch (event.type === "PURCHASE_REDEEMED" ? `redemption:${event.redemption_outcome}` : event.type) {
    case "TRANSFER":
      return {
        names: signedInFirst(event.transferred_to ?? []),
        from: event.transferred_from ?? [],
        change: "transfer",
      };
    case "SUBSCRIBER_ALIAS":
      return { names, from: [], change: "alias" };
    case "redemption:transfer":
      return { names: signedInFirst([...by, ...names]), from, change: "transfer" };
    case "redemption:alias":
      return { names: [...by, ...from, ...names], from: [], change: "alias" };
    default:
      return { names: [...names, ...by], from: [], change: null };
  }
}

/** Of a transfer no name binds more than another, but that who has signed in can be told from the rest. */
function signedInFirst(names: string[]): string[] {
  return names.toSorted((a, b) => Number(isAnonymous(a)) - Number(isAnonymous(b)));
}

function facts(event: RevenueCatEvent, receivedAt: Date): Omit<EventFacts, "identityChange"> {
  return {
    occurredAt: pastTime(event.event_timestamp_ms, receivedAt) ?? receivedAt,
    purchasedAt: pastTime(event.purchased_at_ms, receivedAt),
    expiresAt: time(event.expiration_at_ms),
    gracePeriodEndsAt: time(event.grace_period_expiration_at_ms),
    resumesAt: time(event.auto_resume_at_ms),
    productId: event.product_id,
    newProductId: event.new_product_id,
    // The older `entitlement_id` is null beside a list, which says nothing.
    entitlementIds: entitlements(
      event.entitlement_id ? (event.entitlement_ids ?? [event.entitlement_id]) : event.entitlement_ids,
    ),
    periodType: event.period_type,
    isFamilyShare: event.is_family_share,
    cancelReason: event.cancel_reason,
    expirationReason: event.expiration_reason,
    isRefund: event.price !== null && event.price < 0,
    snapshot: null,
  };
}

import { z } from "zod";
import type { Config } from "../../platform/config";
import { isAnonymous } from "../app-user-ids";
import type { EventFacts, ProviderEvent } from "../events";
import { buildProviderEvent } from "./build-event";
import {
  EventId,
  entitlements,
  findInvalid,
  NullableTexts,
  OptionalBoolean,
  OptionalNumber,
  OptionalText,
  OptionalTexts,
  requireFields,
  toDate,
  toPastDate,
  withoutRenewalNumber,
} from "./fields";
import type { Delivery, Provider } from "./provider";
import { requireAuthentic } from "./require-authentic";

/** The times of an event, in milliseconds since 1970. A text would be read as none, which ends access. */
const TIMES = [
  "event_timestamp_ms",
  "purchased_at_ms",
  "expiration_at_ms",
  "grace_period_expiration_at_ms",
  "auto_resume_at_ms",
];

const Envelope = z.object({ event: z.object({ id: EventId }).loose() });
const WholeEnvelope = Envelope.loose();

/** RevenueCat, "Webhooks", Event Types and Fields. */
const RevenueCatEvent = z.object({
  type: OptionalText,
  environment: OptionalText,
  store: OptionalText,
  app_user_id: OptionalText,
  original_app_user_id: OptionalText,
  aliases: NullableTexts,
  transferred_from: NullableTexts,
  transferred_to: NullableTexts,
  redeemed_from: NullableTexts,
  redeemed_by: NullableTexts,
  redemption_outcome: OptionalText,
  event_timestamp_ms: OptionalNumber,
  purchased_at_ms: OptionalNumber,
  expiration_at_ms: OptionalNumber,
  grace_period_expiration_at_ms: OptionalNumber,
  auto_resume_at_ms: OptionalNumber,
  transaction_id: OptionalText,
  original_transaction_id: OptionalText,
  product_id: OptionalText,
  new_product_id: OptionalText,
  entitlement_id: OptionalText,
  entitlement_ids: OptionalTexts,
  period_type: OptionalText,
  is_family_share: OptionalBoolean,
  cancel_reason: OptionalText,
  expiration_reason: OptionalText,
  price: OptionalNumber,
});
type RevenueCatEvent = z.infer<typeof RevenueCatEvent>;

/** RevenueCat's webhooks. */
export const revenueCat = {
  name: "revenuecat",
  recognizes: ({ headers }: Delivery) => headers.get("x-revenuecat-webhook-signature") !== null,
  authenticate: (config: Config, delivery: Delivery, now: Date) => {
    requireAuthentic("revenuecat", config, delivery, now);
    return delivery.json();
  },
  eventId: (body: unknown) => requireFields(Envelope, body).event.id,
  toPayload: (body: unknown) => {
    const { event, ...envelope } = requireFields(WholeEnvelope, body);
    const { subscriber_attributes: _, ...kept } = event;
    return { ...envelope, event: kept };
  },
  read,
} satisfies Provider;

function read(body: unknown, receivedAt: Date): ProviderEvent {
  const given = requireFields(Envelope, body).event;
  const event = RevenueCatEvent.parse(given);
  const invalid = findInvalid(given, TIMES, OptionalNumber);
  const { entitlement_id: deprecatedId, entitlement_ids: ids, store, transaction_id: transactionId } = event;
  const isTemporary = event.type === "TEMPORARY_ENTITLEMENT_GRANT";
  // The first purchase has no original transaction. Nor has a temporary grant, until the purchase is validated.
  const original = isTemporary ? transactionId : (event.original_transaction_id ?? transactionId);
  const { appUserIds, from, change } = customersOf(event);
  return buildProviderEvent({
    type: event.type ?? "UNKNOWN",
    occurredAt: toPastDate(event.event_timestamp_ms, receivedAt) ?? receivedAt,
    // RevenueCat does not guarantee an environment in a temporary grant.
    environment: event.environment ?? (isTemporary ? "PRODUCTION" : null),
    store,
    purchaseId: withoutRenewalNumber(store, original),
    transactionId,
    customers: appUserIds,
    previousCustomers: from,
    facts: {
      purchasedAt: toPastDate(event.purchased_at_ms, receivedAt),
      expiresAt: toDate(event.expiration_at_ms),
      gracePeriodEndsAt: toDate(event.grace_period_expiration_at_ms),
      resumesAt: toDate(event.auto_resume_at_ms),
      productId: event.product_id,
      newProductId: event.new_product_id,
      // The deprecated `entitlement_id` may be null although `entitlement_ids` is set.
      entitlementIds: entitlements(deprecatedId ? (ids ?? [deprecatedId]) : ids),
      periodType: event.period_type,
      isFamilyShare: event.is_family_share,
      cancelReason: event.cancel_reason,
      expirationReason: event.expiration_reason,
      isRefund: event.price !== null && event.price < 0,
      identityChange: change,
      invalidField: invalid && `/event/${invalid}`,
    },
  });
}

/** `from`: the App User IDs of the previous owner. */
type Customers = { appUserIds: string[]; from: string[]; change: EventFacts["identityChange"] };

/** Returns the customers in an event. A redemption with another outcome changes nothing: the redeemer is the owner. */
function customersOf(event: RevenueCatEvent): Customers {
  const { app_user_id, original_app_user_id, aliases } = event;
  const ids = [app_user_id, original_app_user_id, ...(aliases ?? [])].filter((id) => id !== null);
  const by = event.redeemed_by ?? [];
  const from = event.redeemed_from ?? [];
  const change = "transfer";
  switch (event.type === "PURCHASE_REDEEMED" ? `redemption:${event.redemption_outcome}` : event.type) {
    case "TRANSFER":
      return { appUserIds: signedInFirst(event.transferred_to ?? []), from: event.transferred_from ?? [], change };
    case "SUBSCRIBER_ALIAS":
      return { appUserIds: ids, from: [], change: "alias" };
    case "redemption:transfer":
      return { appUserIds: signedInFirst([...by, ...ids]), from, change };
    case "redemption:alias":
      return { appUserIds: [...by, ...from, ...ids], from: [], change: "alias" };
    default:
      return { appUserIds: [...ids, ...by], from: [], change: null };
  }
}

/** A transfer gives its ids no precedence. Ids of signed-in customers go before anonymous ones. */
function signedInFirst(appUserIds: string[]): string[] {
  return appUserIds.toSorted((a, b) => Number(isAnonymous(a)) - Number(isAnonymous(b)));
}

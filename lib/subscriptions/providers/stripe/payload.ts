import { z } from "zod";
import type { EventFacts } from "../../events";
import { EventId, OptionalBoolean, OptionalNumber, OptionalText, optional } from "../fields";
import { EntitlementsField } from "../products";

/** Times are in seconds since 1970. Other fields, such as a buyer's name and address, are not stored. */
const Price = z.object({
  id: OptionalText,
  product: OptionalText,
  metadata: optional(z.object({ entitlements: EntitlementsField })),
});
const Item = z.object({
  /** On the item since API version 2025-03-31; on the subscription before. */
  current_period_start: OptionalNumber,
  current_period_end: OptionalNumber,
  price: optional(Price),
});
const Items = optional(z.object({ data: optional(z.array(Item)) }));
/** The fields that change with a subscription's state. */
const SubscriptionState = {
  status: OptionalText,
  current_period_start: OptionalNumber,
  current_period_end: OptionalNumber,
  cancel_at: OptionalNumber,
  cancel_at_period_end: OptionalBoolean,
  canceled_at: OptionalNumber,
  ended_at: OptionalNumber,
  items: Items,
};

/** The fields of a subscription, a checkout session, a charge and a dispute. */
const StripeObject = z.object({
  ...SubscriptionState,
  id: OptionalText,
  customer: OptionalText,
  metadata: optional(z.object({ accountId: OptionalText, productId: OptionalText, entitlements: EntitlementsField })),
  start_date: OptionalNumber,
  cancellation_details: optional(z.object({ reason: OptionalText })),
  mode: OptionalText,
  payment_status: OptionalText,
  payment_intent: OptionalText,
  payment_link: OptionalText,
  client_reference_id: OptionalText,
  refunded: OptionalBoolean,
  invoice: OptionalText,
});
export type StripeObject = z.infer<typeof StripeObject>;

/** A thin event has no `data`: it is ignored. */
export const StripePayload = z.object({
  id: EventId,
  type: OptionalText,
  created: OptionalNumber,
  livemode: OptionalBoolean,
  data: optional(
    z.object({ object: optional(StripeObject), previous_attributes: optional(z.object(SubscriptionState).partial()) }),
  ),
});
export type StripeEvent = z.infer<typeof StripePayload>;

/** The state of a subscription. */
export function subscriptionState(subscription: StripeObject): Pick<StripeObject, keyof typeof SubscriptionState> {
  return z.object(SubscriptionState).parse(subscription);
}

/** What every event has. */
export type StripeBase = Pick<EventFacts, "occurredAt" | "order"> & { environment: string | null; store: string };

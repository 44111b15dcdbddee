import { z } from "zod";
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

/** The fields of a subscription, a checkout session, a charge and a dispute. */
const StripeObject = z.object({
  id: OptionalText,
  status: OptionalText,
  customer: OptionalText,
  metadata: optional(
    z.object({
      accountId: OptionalText,
      productId: OptionalText,
      entitlements: EntitlementsField,
    }),
  ),
  start_date: OptionalNumber,
  current_period_start: OptionalNumber,
  current_period_end: OptionalNumber,
  cancel_at: OptionalNumber,
  cancel_at_period_end: OptionalBoolean,
  canceled_at: OptionalNumber,
  ended_at: OptionalNumber,
  cancellation_details: optional(z.object({ reason: OptionalText })),
  items: Items,
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
    z.object({
      object: optional(StripeObject),
      previous_attributes: optional(
        z.object({
          cancel_at: OptionalNumber.optional(),
          cancel_at_period_end: OptionalBoolean.optional(),
          current_period_end: OptionalNumber,
          items: Items,
        }),
      ),
    }),
  ),
});
export type StripeEvent = z.infer<typeof StripePayload>;

/** What every event has. */
export type StripeBase = { occurredAt: Date; environment: string | null; store: string };

import { z } from "zod";
import { EventId, OptionalAmount, OptionalText, optional, Rfc3339Ms } from "../fields";
import { EntitlementsField } from "../products";

const Custom = optional(z.object({ accountId: OptionalText, entitlements: EntitlementsField }));
const Price = z.object({
  id: OptionalText,
  product_id: OptionalText,
  billing_cycle: optional(z.object({})),
  custom_data: Custom,
});
const Item = z.object({
  /** Of an adjustment's item. */
  type: OptionalText,
  price: optional(Price),
  product: optional(z.object({ id: OptionalText, custom_data: Custom })),
});

/** The fields of a subscription, a transaction and an adjustment. Others are not stored. */
const PaddleObject = z.object({
  id: OptionalText,
  status: OptionalText,
  customer_id: OptionalText,
  custom_data: Custom,
  items: optional(z.array(Item)),
  started_at: OptionalText,
  paused_at: OptionalText,
  canceled_at: OptionalText,
  billed_at: OptionalText,
  current_billing_period: optional(z.object({ starts_at: OptionalText, ends_at: OptionalText })),
  scheduled_change: optional(z.object({ action: OptionalText, effective_at: OptionalText, resume_at: OptionalText })),
  action: OptionalText,
  type: OptionalText,
  transaction_id: OptionalText,
  /** Of a transaction. `grand_total` is after credits and before payments; `total` is before both. */
  details: optional(z.object({ totals: optional(z.object({ grand_total: OptionalAmount, total: OptionalAmount })) })),
  /** Of an adjustment. */
  totals: optional(z.object({ total: OptionalAmount })),
});
export type PaddleObject = z.infer<typeof PaddleObject>;

/** `environment` is not Paddle's: it says whose secret signed the delivery. */
export const PaddlePayload = z.object({
  environment: OptionalText,
  event_id: EventId,
  event_type: OptionalText,
  occurred_at: OptionalText,
  data: optional(PaddleObject),
});

/** The part of a time below milliseconds, in nanoseconds. */
export function nanosecondsOf(text: string | null): number {
  const [, fraction = ""] = /\.(\d{1,9})/.exec(text ?? "") ?? [];
  return Number(fraction.padEnd(9, "0").slice(3));
}

/** Paddle's times have up to nanoseconds. Returns milliseconds since 1970; null for anything else. */
export const timeOf = (text: string | null | undefined) => Rfc3339Ms.parse(text ?? null);

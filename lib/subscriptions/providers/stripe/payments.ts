import type { EventFacts } from "../../events";
import { refundOfPayment } from "../build-event";
import { entitlementsOf } from "../products";
import type { Products } from "../provider";
import type { StripeObject } from "./payload";

const PAID = new Set(["paid", "no_payment_required"]);

/**
 * A paid checkout session without a subscription. Webhooks have no line items: the metadata or the payment link names
 * the product.
 */
export function checkoutFacts(session: StripeObject, occurredAt: Date, products: Products): Partial<EventFacts> | null {
  const { metadata, mode, payment_link: link, payment_status: status } = session;
  if (mode !== "payment" || status === null || !PAID.has(status)) return null;
  const productId = metadata?.productId ?? link;
  const sold = { ids: [productId, link], metadataEntitlementIds: metadata?.entitlements ?? null };
  return { purchasedAt: occurredAt, productId, entitlementIds: entitlementsOf(products, [sold]) };
}

/** A dispute takes the payment back once it is lost ("The Dispute object", status). */
export function disputeFacts({ payment_intent, status }: StripeObject, occurredAt: Date) {
  return status === "lost" && payment_intent !== null ? refundOfPayment(occurredAt) : null;
}

/**
 * A full refund. Before API version 2025-03-31 a charge names its invoice. Since then, that of an invoice is stored as a
 * purchase without a product or entitlements, which no status shows.
 */
export function refundFacts({ invoice, payment_intent, refunded }: StripeObject, occurredAt: Date) {
  if (refunded !== true || invoice !== null || payment_intent === null) return null;
  return refundOfPayment(occurredAt);
}

import { AppError } from "../../../errors";
import type { Config } from "../../../platform/config";
import type { EventFacts, ProviderEvent } from "../../events";
import { buildAliasEvent, buildProviderEvent, orderOf, refundOfPayment } from "../build-event";
import { requireFields, toPastDate } from "../fields";
import { entitlementsOf } from "../products";
import type { Delivery, Products, Provider } from "../provider";
import { isSigned } from "../signatures";
import { type StripeBase, type StripeEvent, type StripeObject, StripePayload } from "./payload";
import { readSubscription } from "./subscription";

const PAID = new Set(["paid", "no_payment_required"]);

/**
 * A paid checkout session without a subscription. Webhooks have no line items: the metadata or the payment link names
 * the product.
 */
function checkoutFacts(session: StripeObject, occurredAt: Date, products: Products): Partial<EventFacts> | null {
  const { metadata, mode, payment_link: link, payment_status: status } = session;
  if (mode !== "payment" || status === null || !PAID.has(status)) return null;
  const productId = metadata?.productId ?? link;
  const sold = { ids: [productId, link], metadataEntitlementIds: metadata?.entitlements ?? null };
  return { purchasedAt: occurredAt, productId, entitlementIds: entitlementsOf(products, [sold]) };
}

/** A dispute takes the payment back once it is lost ("The Dispute object", status). */
function disputeFacts({ payment_intent, status }: StripeObject, occurredAt: Date) {
  return status === "lost" && payment_intent !== null ? refundOfPayment(occurredAt) : null;
}

/**
 * A full refund. Before API version 2025-03-31 a charge names its invoice. Since then, that of an invoice is stored as a
 * purchase without a product or entitlements, which no status shows.
 */
function refundFacts({ invoice, payment_intent, refunded }: StripeObject, occurredAt: Date) {
  if (refunded !== true || invoice !== null || payment_intent === null) return null;
  return refundOfPayment(occurredAt);
}

/** Stripe's webhooks, snapshot payloads of API versions before and after 2025-03-31 ("Events", "The Event object"). */
export const stripe: Provider = {
  name: "stripe",
  recognizes: ({ headers }) => headers.get("stripe-signature") !== null,
  authenticate,
  eventId: (body) => requireFields(StripePayload, body).id,
  toPayload: (body) => requireFields(StripePayload, body),
  read,
};

function authenticate(config: Config, delivery: Delivery, now: Date): unknown {
  const secrets = config.BILLING_STRIPE_WEBHOOK_SECRET;
  if (secrets.length === 0) throw new AppError("webhook_not_configured");
  if (!isSigned("stripe", delivery, secrets, now)) throw new AppError("webhook_unauthorized");
  return delivery.json();
}

function read(body: unknown, receivedAt: Date, products: Products): ProviderEvent {
  const event = requireFields(StripePayload, body);
  const { created, livemode } = event;
  const base = {
    occurredAt: toPastDate(created === null ? null : created * 1000, receivedAt) ?? receivedAt,
    environment: livemode === null ? null : livemode ? "PRODUCTION" : "SANDBOX",
    store: "STRIPE",
    order: orderOf(receivedAt),
  };
  const type = event.type ?? "UNKNOWN";
  if (type.startsWith("customer.subscription.")) return readSubscription(event, base, products);
  if (type.startsWith("checkout.session.")) return readCheckout(event, base, products);
  if (type === "charge.refunded") return readRefund(event, base, refundFacts);
  if (type === "charge.dispute.closed") return readRefund(event, base, disputeFacts);
  return buildProviderEvent({ ...base, type, purchaseId: null, customers: [] });
}

/** A one-time purchase; of a subscription, the account that it belongs to. */
function readCheckout(event: StripeEvent, base: StripeBase, products: Products): ProviderEvent {
  const session = event.data?.object;
  const accountId = session?.metadata?.accountId ?? session?.client_reference_id ?? null;
  const customers = [accountId, session?.customer ?? null];
  if (session?.mode === "subscription" && !customers.includes(null)) return buildAliasEvent({ ...base, customers });
  const facts = session ? checkoutFacts(session, base.occurredAt, products) : null;
  const type = facts ? "NON_RENEWING_PURCHASE" : (event.type ?? "UNKNOWN");
  const purchaseId = session?.payment_intent ?? session?.id ?? null;
  return buildProviderEvent({ ...base, type, purchaseId, customers, facts: facts ?? {} });
}

/**
 * A full refund or a lost dispute ends a one-time purchase. That of an invoice does not: Stripe keeps the subscription.
 * `given`: a charge or a dispute.
 */
function readRefund(event: StripeEvent, base: StripeBase, factsOf: typeof refundFacts): ProviderEvent {
  const given = event.data?.object;
  const facts = given ? factsOf(given, base.occurredAt) : null;
  const type = facts ? "CANCELLATION" : (event.type ?? "UNKNOWN");
  const customers = [given?.metadata?.accountId ?? null, given?.customer ?? null];
  return buildProviderEvent({
    ...base,
    type,
    purchaseId: given?.payment_intent ?? null,
    customers,
    facts: facts ?? {},
  });
}

import { createHash } from "node:crypto";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import { isSigned } from "../../platform/webhook-signatures";
import type { EventFacts, ProviderEvent } from "../events";
import {
  buildAliasEvent,
  buildProviderEvent,
  endedFacts,
  isOfApi,
  orderOf,
  refundOfPayment,
  snapshotOf,
} from "./build-event";
import {
  EntitlementsField,
  EventId,
  entitlementsOf,
  OptionalBoolean,
  OptionalNumber,
  OptionalText,
  optional,
  requireFields,
  toDate,
  toPastDate,
} from "./fields";
import type { Delivery, Products, Provider } from "./provider";

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
const disputeFacts = ({ payment_intent, status }: StripeObject, occurredAt: Date) =>
  status === "lost" && payment_intent !== null ? refundOfPayment(occurredAt) : null;

/**
 * A full refund. Before API version 2025-03-31 a charge names its invoice. Since then, that of an invoice is stored as a
 * purchase without a product or entitlements, which no status shows.
 */
function refundFacts({ invoice, payment_intent, refunded }: StripeObject, occurredAt: Date) {
  if (refunded !== true || invoice !== null || payment_intent === null) return null;
  return refundOfPayment(occurredAt);
}

/**
 * Stripe's webhooks: snapshot events of API versions before and after 2025-03-31 ("Events", "The Event object"), and thin
 * events, whose destinations sign them alike ("Event destinations").
 */
export const stripe: Provider = {
  name: "stripe",
  recognizes: ({ headers }) => headers.get("stripe-signature") !== null,
  authenticate,
  complete,
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

/** A thin event of an object of API v1 ("Migrate from snapshot events to thin events"). Its types are those of v1 after `v1.`. */
const ThinEvent = z.object({
  id: EventId,
  object: z.literal("v2.core.event"),
  type: z.string().regex(/^v1\.(customer\.subscription|checkout\.session|charge|entitlements)\.\w[\w.]*$/),
  created: z.iso.datetime({ offset: true }),
  livemode: z.boolean(),
  /** The snapshot event of the same change. Its id counts, since it may be delivered too. */
  snapshot_event: z.string().nullish(),
  /** Without the path of an object, as that of a summary, which has no id, the snapshot event counts alone. */
  related_object: optional(z.object({ url: z.string().regex(/^\/v1\/[a-z_/]+\/[\w-]+$/) })),
});

/** Fetches what a thin event names, and the entitlements that a summary leaves out. */
async function complete({ stripe: api }: Context["billing"], body: unknown, now: Date): Promise<unknown> {
  const thin = ThinEvent.safeParse(body).data;
  if (!thin && !ShortSummary.safeParse(body).success) return body;
  if (!api) {
    const reason = thin ? "a thin event names its object" : "a summary lists only some of the customer's entitlements";
    const detail = `BILLING_STRIPE_API_KEY is not set: ${reason}, which has to be fetched.`;
    throw new AppError("billing_api_not_configured", { detail });
  }
  try {
    return await withAllEntitlements(api, thin ? await completeThin(api, thin, body, now) : body);
  } catch (cause) {
    throw new AppError("unavailable", { cause }); // Stripe delivers it again
  }
}

type StripeApi = NonNullable<Context["billing"]["stripe"]>;

/** Replaces a thin event by its snapshot event, else by one with the object as it is now. */
async function completeThin(api: StripeApi, thin: z.infer<typeof ThinEvent>, body: unknown, now: Date) {
  const { id, livemode, related_object: related, snapshot_event: snapshotId } = thin;
  const snapshot = snapshotId && (await api.getEvent(snapshotId));
  if (snapshot) return snapshot;
  const object = related && (await api.getObject(related.url));
  if (!object) return body;
  const type = thin.type.slice("v1.".length);
  // A subscription is in the state of the request, whenever it changed.
  const ms = type.startsWith("customer.subscription.") ? now.getTime() : Date.parse(thin.created);
  return { id, type, created: Math.floor(ms / 1000), livemode, data: { object } };
}

const SUMMARY_UPDATED = "entitlements.active_entitlement_summary.updated";

/** The event of a summary, which lists the first ten entitlements. */
const ShortSummary = z.looseObject({
  type: z.literal(SUMMARY_UPDATED),
  data: z.looseObject({
    object: z.looseObject({ customer: z.string(), entitlements: z.object({ has_more: z.literal(true) }) }),
  }),
});

/** "List all active entitlements". */
export const ActiveEntitlements = z.object({ data: z.array(z.object({ lookup_key: z.string() })) });

/**
 * Replaces the entitlements of a summary that does not list all of them by those that the customer has now. Any other event is
 * returned as it is, as is that of an unknown customer. @throws BillingApiError
 */
export async function withAllEntitlements(api: StripeApi, body: unknown): Promise<unknown> {
  const event = ShortSummary.safeParse(body).data;
  if (!event) return body;
  const { object } = event.data;
  const entitlements = ActiveEntitlements.nullable().parse(await api.listEntitlements(object.customer));
  return entitlements ? { ...event, data: { ...event.data, object: { ...object, entitlements } } } : body;
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
  if (isOfApi(type) || type.startsWith("customer.subscription.")) return readSubscription(event, base, products);
  if (type.startsWith("checkout.session.")) return readCheckout(event, base, products);
  if (type === SUMMARY_UPDATED) return readEntitlements(event, base, products);
  if (type === "charge.refunded") return readRefund(event, base, refundFacts);
  if (type === "charge.dispute.closed") return readRefund(event, base, disputeFacts);
  return buildProviderEvent({ ...base, type, purchaseId: null, customers: [] });
}

/** The product of the purchase that has the entitlements of a customer by Stripe's own features. See `accountStatus`. */
export const STRIPE_ENTITLEMENTS = "entitlements.active_entitlement_summary";

/**
 * The entitlements that a customer has by the features of what they bought ("Entitlements"), as a purchase of the customer:
 * Stripe does not say which subscription gives which.
 */
function readEntitlements({ data }: StripeEvent, base: StripeBase, products: Products): ProviderEvent {
  const summary = data?.object;
  const customer = summary?.customer ?? null;
  const digest = (given: EntitlementList) => digestOf(keysOf(given).toSorted());
  const previous = data?.previous_attributes?.entitlements ?? null;
  const order = base.order && {
    ...base.order,
    state: digest(summary?.entitlements ?? null),
    replacedState: previous && !previous.has_more ? digest(previous) : null,
  };
  const sold = keysOf(summary?.entitlements ?? null).map((key) => ({ ids: [key], metadataEntitlementIds: [key] }));
  const facts = {
    productId: STRIPE_ENTITLEMENTS,
    entitlementIds: entitlementsOf(products, sold),
    snapshot: summary?.entitlements ? snapshotOf({}) : null,
  };
  return buildProviderEvent({ ...base, order, type: "SNAPSHOT", purchaseId: customer, customers: [customer], facts });
}

const keysOf = (list: EntitlementList) => (list?.data ?? []).flatMap(({ lookup_key }) => lookup_key ?? []);
const digestOf = (state: unknown) =>
  createHash("sha256").update(JSON.stringify(state)).digest("base64url").slice(0, 22);

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
  const purchaseId = given?.payment_intent ?? null;
  return buildProviderEvent({ ...base, type, purchaseId, customers, facts: facts ?? {} });
}

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
const SubscriptionState = z.object({
  status: OptionalText,
  current_period_start: OptionalNumber,
  current_period_end: OptionalNumber,
  cancel_at: OptionalNumber,
  cancel_at_period_end: OptionalBoolean,
  canceled_at: OptionalNumber,
  ended_at: OptionalNumber,
  items: Items,
});

/** "The Active Entitlement Summary object". */
const Entitlements = optional(
  z.object({ data: optional(z.array(z.object({ lookup_key: OptionalText }))), has_more: OptionalBoolean }),
);
type EntitlementList = z.infer<typeof Entitlements>;

/** The fields of a subscription, a checkout session, a charge, a dispute and a customer's entitlements. */
const StripeObject = SubscriptionState.extend({
  entitlements: Entitlements,
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
type StripeObject = z.infer<typeof StripeObject>;

const StripePayload = z.object({
  id: EventId,
  type: OptionalText,
  created: OptionalNumber,
  livemode: OptionalBoolean,
  data: optional(
    z.object({
      object: optional(StripeObject),
      previous_attributes: optional(SubscriptionState.extend({ entitlements: Entitlements }).partial()),
    }),
  ),
});
type StripeEvent = z.infer<typeof StripePayload>;

type StripeBase = Pick<EventFacts, "occurredAt" | "order"> & { environment: string | null; store: string };

const END_REASONS = new Map([
  ["cancellation_requested", "UNSUBSCRIBE"],
  ["payment_failed", "BILLING_ERROR"],
  ["payment_disputed", "CUSTOMER_SUPPORT"],
]);

/**
 * Reads an event with a subscription, whatever its type: each has the whole subscription ("The Subscription object"). An
 * incomplete one has not been paid for yet, and is ignored.
 */
function readSubscription(event: StripeEvent, base: StripeBase, products: Products): ProviderEvent {
  const subscription = event.data?.object;
  const customers = [subscription?.metadata?.accountId ?? null, subscription?.customer ?? null];
  const given = { ...base, purchaseId: subscription?.id ?? null, customers };
  const state = subscription ? stateOf(subscription, base.occurredAt) : null;
  if (!subscription || !state) return buildProviderEvent({ ...given, type: event.type ?? "UNKNOWN" });
  const facts = { ...soldFacts(subscription, products), ...state };
  const order = base.order && { ...base.order, ...statesOf(event, subscription) };
  return buildProviderEvent({ ...given, order, type: typeOf(event, subscription, state), facts });
}

/**
 * Digests of the subscription's state and of the one before it. `created` is in seconds: they say which of two changes of one
 * second came first.
 */
function statesOf({ type, data }: StripeEvent, subscription: StripeObject) {
  const state = SubscriptionState.parse(subscription);
  const previous = data?.previous_attributes;
  // Nothing precedes the creation, and the end says nothing of what it replaced.
  const none = type === "customer.subscription.created" ? "" : null;
  return { state: digestOf(state), replacedState: previous ? digestOf({ ...state, ...previous }) : none };
}

function soldFacts({ items }: StripeObject, products: Products): Partial<EventFacts> {
  const sold = (items?.data ?? []).map(({ price }) => ({
    ids: [price?.id ?? null, price?.product ?? null],
    metadataEntitlementIds: price?.metadata?.entitlements ?? null,
  }));
  const main = sold.find((one) => entitlementsOf(products, [one]).length > 0) ?? sold[0];
  return { productId: main?.ids[1] ?? main?.ids[0] ?? null, entitlementIds: entitlementsOf(products, sold) };
}

/** The state of a subscription ("How subscriptions work", Subscription statuses); null: it gives nothing yet. */
function stateOf(subscription: StripeObject, occurredAt: Date): Partial<EventFacts> | null {
  const period = periodOf(subscription);
  const startedAt = seconds(subscription.start_date);
  const canceledAt = unsubscribedAt(subscription, occurredAt);
  const snapshot = { startedAt, periodStartsAt: period.start, unsubscribedAt: canceledAt };
  const base = { periodType: "NORMAL", expiresAt: earlier(period.end, seconds(subscription.cancel_at)) };
  switch (subscription.status) {
    case "trialing":
      return { ...base, periodType: "TRIAL", snapshot: snapshotOf(snapshot) };
    case "active":
      return { ...base, snapshot: snapshotOf(snapshot) };
    case "past_due":
    case "unpaid": {
      // The period has begun without being paid: what was paid ended at its start. Stripe retries while it is past due.
      const grace = subscription.status === "past_due" ? period.end : null;
      const unpaid = snapshotOf({ ...snapshot, billingIssueDetectedAt: occurredAt });
      return { ...base, expiresAt: period.start, gracePeriodEndsAt: grace, snapshot: unpaid };
    }
    case "paused":
      return endedFacts(base, snapshot, occurredAt, "SUBSCRIPTION_PAUSED");
    case "canceled": {
      const reason = END_REASONS.get(subscription.cancellation_details?.reason ?? "") ?? "UNKNOWN";
      return endedFacts(base, snapshot, seconds(subscription.ended_at) ?? occurredAt, reason);
    }
    default:
      return null;
  }
}

/** The period of the item that is paid for longest: items may have different periods. */
function periodOf({ items, current_period_start, current_period_end }: StripeObject) {
  const all = (items?.data ?? []).toSorted((a, b) => (b.current_period_end ?? 0) - (a.current_period_end ?? 0));
  return {
    start: seconds(all[0]?.current_period_start ?? current_period_start),
    end: seconds(all[0]?.current_period_end ?? current_period_end),
  };
}

/** When the subscription was canceled, if it ends with its period. A later `cancel_at` leaves renewals before it. */
function unsubscribedAt(subscription: StripeObject, occurredAt: Date): Date | null {
  const { cancel_at, cancel_at_period_end, canceled_at } = subscription;
  const { end } = periodOf(subscription);
  const endsAt = seconds(cancel_at);
  const isCanceled = cancel_at_period_end === true || (endsAt !== null && end !== null && endsAt <= end);
  return isCanceled ? (seconds(canceled_at) ?? occurredAt) : null;
}

/** Names what changed, for operators and for the notification of a renewal. The state does not depend on it. */
function typeOf({ type, data }: StripeEvent, subscription: StripeObject, { snapshot }: Partial<EventFacts>): string {
  if (isOfApi(type)) return type;
  if (type === "customer.subscription.created") return "INITIAL_PURCHASE";
  if (snapshot?.endedAt) return "EXPIRATION";
  if (snapshot?.billingIssueDetectedAt) return "BILLING_ISSUE";
  const previous = data?.previous_attributes;
  if (!previous) return "SNAPSHOT";
  const before = periodOf({ ...subscription, items: null, current_period_end: null, ...previous });
  const { end } = periodOf(subscription);
  if (before.end && end && before.end < end) return "RENEWAL";
  if (previous.cancel_at === undefined && previous.cancel_at_period_end === undefined) return "SNAPSHOT";
  return snapshot?.unsubscribedAt ? "CANCELLATION" : "UNCANCELLATION";
}

const seconds = (value: number | null) => (value === null ? null : toDate(value * 1000));
const earlier = (a: Date | null, b: Date | null) => (a && b ? (a < b ? a : b) : (a ?? b));

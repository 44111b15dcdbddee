import { z } from "zod";
import type { NewEvent } from "../inbox/store";
import { ActiveEntitlements, STRIPE_ENTITLEMENTS, stripe, withAllEntitlements } from "../providers/stripe";
import {
  type Api,
  asDelivery,
  type FoundPurchase,
  failed,
  parseResponse,
  type Source,
  type SourceDeps,
  type StateType,
  toNewEvent,
} from "./source";

export const STRIPE: Api = { name: "Stripe", setting: "BILLING_STRIPE_API_KEY" };

const ListedId = z.string().min(1).max(255);
const Customer = z.union([z.string(), z.looseObject({ id: z.string(), email: z.string().nullish() })]);
export const StripeSubscription = z.looseObject({ id: ListedId, status: z.string(), customer: Customer.nullish() });

/** Stripe's clock has whole seconds: what a webhook reports of this second happened before or after the request. */
export function stripePurchase(
  deps: Pick<SourceDeps, "config">,
  { customer, ...subscription }: z.infer<typeof StripeSubscription>,
  requestedAt: Date,
  type: StateType,
): FoundPurchase {
  const created = Math.floor(requestedAt.getTime() / 1000);
  const owner = typeof customer === "string" ? { id: customer } : customer;
  const toEvent = asDelivery(stripe, deps, requestedAt, (id, accountId) => {
    const metadata = { ...Object(subscription.metadata), ...(accountId && { accountId }) };
    const object = { ...subscription, customer: owner?.id ?? null, metadata };
    return { id, type, created, livemode: subscription.livemode, data: { object } };
  });
  return { provider: stripe.name, email: owner?.email ?? null, toEvent };
}

type Summary = { customer: string; livemode: boolean; entitlements: unknown };

function stripeSummary(deps: Pick<SourceDeps, "config">, summary: Summary, requestedAt: Date): FoundPurchase {
  const { livemode } = summary;
  const created = Math.floor(requestedAt.getTime() / 1000);
  const type = `${STRIPE_ENTITLEMENTS}.updated`;
  const toEvent = asDelivery(stripe, deps, requestedAt, (id) => ({
    id,
    type,
    created,
    livemode,
    data: { object: summary },
  }));
  return { provider: stripe.name, email: null, toEvent };
}

/** The events that change a purchase or its owner. Stripe lists those of 20 types at most ("List all events"). */
const EVENT_TYPES = [
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "customer.subscription.paused",
  "customer.subscription.resumed",
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "charge.refunded",
  "charge.dispute.closed",
  "entitlements.active_entitlement_summary.updated",
];
const EventPage = z.object({ data: z.array(z.looseObject({ id: ListedId })), has_more: z.boolean() });

export const stripeSource: Source = {
  provider: stripe.name,
  api: STRIPE,
  isOpen: ({ billing }) => billing.stripe !== null,
  intervalMs: 100, // of 25 requests a second in a sandbox, 100 in live mode ("Rate limits")
  eventDays: 30,
  readPurchases: async (deps, reference, requestedAt) => {
    const { stripe: api } = deps.billing;
    if (!api) return [];
    if (reference.startsWith("cus_")) {
      const list = parseResponse(STRIPE, ActiveEntitlements.nullable(), await api.listEntitlements(reference));
      const summary = { customer: reference, livemode: api.isLive, entitlements: list };
      return list ? [stripeSummary(deps, summary, requestedAt)] : [];
    }
    if (!reference.startsWith("sub_")) return []; // the events of a payment say all
    const subscription = parseResponse(STRIPE, StripeSubscription.nullable(), await api.getSubscription(reference));
    return subscription ? [stripePurchase(deps, subscription, requestedAt, "SNAPSHOT")] : [];
  },
  readEvents: async (deps, { from, until, position }, requestedAt) => {
    const { stripe: api } = deps.billing;
    if (!api) return { events: [], next: null };
    const [start, end] = [from, until].map((time) => Math.floor(time.getTime() / 1000)) as [number, number];
    const query = { types: EVENT_TYPES, from: start, until: end, after: position };
    const { data, has_more } = parseResponse(STRIPE, EventPage, await api.listEvents(query));
    const last = data.at(-1)?.id ?? null;
    if (has_more && (last === null || last === position))
      throw failed(STRIPE, new Error("the list does not end: a page repeats"));
    // The newest is first: of events of one second, it counts last.
    const receivedAt = (index: number) => new Date(requestedAt.getTime() - index);
    const events: NewEvent[] = [];
    for (const [i, event] of data.entries())
      events.push(toNewEvent(stripe, deps, receivedAt(i), event.id, await withAllEntitlements(api, event)));
    return { events, next: has_more ? last : null };
  },
};

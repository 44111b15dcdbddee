import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { createBillingApis } from "@/lib/platform/adapters/billing-sources";
import { clock, ctx } from "@/tests/support/context";
import { listen } from "@/tests/support/network/listen";
import { stripeSubscription } from "./provider-objects";
import { type Json, PROVIDERS } from "./providers";
import { send } from "./revenuecat";

const KEY = "rk_live_of_the_fake";
type Event = Json & { id: string; type: string; created: number; data: { object: Json } };

/**
 * A fake of Stripe's API with subscriptions, charges, entitlements and the events of the last 30 days. An event that it records
 * is not delivered: a test does that, or not.
 */
export async function startStripe() {
  const subscriptions = new Map<string, Json>();
  const charges = new Map<string, Json>();
  const entitlements = new Map<string, string[]>();
  const events: Event[] = [];
  const requests: URL[] = [];
  let responder: ((response: ServerResponse, url: URL) => boolean) | undefined;

  const page = (url: URL, all: readonly Json[]) => {
    const after = url.searchParams.get("starting_after");
    const start = after ? all.findIndex(({ id }) => id === after) + 1 : 0;
    const limit = Number(url.searchParams.get("limit") ?? 10);
    return {
      object: "list",
      data: all.slice(start, start + limit),
      has_more: all.length > start + limit,
      url: url.pathname,
    };
  };
  const listEvents = (url: URL) => {
    const { searchParams: query } = url;
    const [from, until] = [query.get("created[gte]") ?? 0, query.get("created[lte]") ?? Number.POSITIVE_INFINITY];
    const types = query.getAll("types[]");
    const chosen = events.filter(
      ({ created, type }) => created >= Number(from) && created <= Number(until) && types.includes(type),
    );
    return page(url, chosen.toReversed());
  };
  const answer = (url: URL): Json | null => {
    const [, resource = "", id] = /^\/v1\/([a-z_/]+?)(?:\/((?:sub|evt)_[\w-]+))?$/.exec(url.pathname) ?? [];
    const query = url.searchParams;
    if (resource === "subscriptions" && id) return subscriptions.get(id) ?? null;
    if (resource === "subscriptions") return page(url, [...subscriptions.values()]);
    if (resource === "events" && id) return events.find((event) => event.id === id) ?? null;
    if (resource === "events") return listEvents(url);
    if (resource === "charges") {
      return page(
        url,
        [...charges.values()].filter((charge) => charge.payment_intent === query.get("payment_intent")),
      );
    }
    if (resource !== "entitlements/active_entitlements") return null;
    return page(url, (entitlements.get(query.get("customer") ?? "") ?? []).map(entitlement));
  };
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const url = new URL(request.url ?? "", "http://stripe");
    requests.push(url);
    if (responder?.(response, url)) return;
    if (request.headers.authorization !== `Bearer ${KEY}`)
      return send(response, 401, { error: { type: "invalid_request_error" } });
    const body = answer(url);
    send(response, body ? 200 : 404, body ?? { error: { code: "resource_missing", type: "invalid_request_error" } });
  });
  const url = `http://${await listen(server)}`;

  const record = (type: string, object: Json, fields: Json = {}): Event => {
    const { previous_attributes, ...rest } = fields;
    const created = Math.floor(clock.now().getTime() / 1000);
    const data = { object: structuredClone(object), ...(previous_attributes ? { previous_attributes } : {}) };
    const event = { id: `evt_${randomUUID()}`, object: "event", type, created, livemode: true, data, ...rest } as Event;
    events.push(event);
    return event;
  };
  return {
    config: { ...PROVIDERS, BILLING_STRIPE_API_KEY: KEY, BILLING_STRIPE_API_URL: url },
    apis: () => createBillingApis({ ...ctx().config, BILLING_STRIPE_API_KEY: KEY, BILLING_STRIPE_API_URL: url }),
    subscriptions,
    charges,
    entitlements,
    events,
    requests,
    record,
    /** Replaces the responses that it returns true for. */
    respondWith: (next?: typeof responder) => {
      responder = next;
    },
    /** A customer subscribes. */
    subscribe: (accountId: string | null, fields: Json = {}) => {
      const subscription = stripeSubscription(accountId, { customer: `cus_${randomUUID()}`, ...fields });
      subscriptions.set(String(subscription.id), subscription);
      return { subscription, event: record("customer.subscription.created", subscription) };
    },
    /** A subscription changes. */
    change: (id: unknown, fields: Json, type = "customer.subscription.updated") => {
      const before = subscriptions.get(String(id)) ?? {};
      const previous = Object.fromEntries(Object.keys(fields).map((name) => [name, before[name] ?? null]));
      const subscription = { ...before, ...fields };
      subscriptions.set(String(id), subscription);
      return record(type, subscription, type.endsWith("updated") ? { previous_attributes: previous } : {});
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** "The Active Entitlement object". */
export const entitlement = (lookup_key: string): Json => ({
  id: `ent_${lookup_key}`,
  object: "entitlements.active_entitlement",
  feature: `feat_${lookup_key}`,
  livemode: true,
  lookup_key,
});

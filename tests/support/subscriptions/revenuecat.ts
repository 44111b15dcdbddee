import { createServer, type ServerResponse } from "node:http";
import { newAccount } from "@/tests/support/accounts";
import { listen } from "@/tests/support/network/listen";
import { billingEvent, deliverOk, type Sent } from "./billing";

const KEY = "sk_test_of_the_fake";
type Responder = (response: ServerResponse, customer: string) => void;

/** Starts a fake of RevenueCat's REST API v1, Get Customer Info. */
export async function startRevenueCat() {
  const customers = new Map<string, unknown>();
  const asked: string[] = [];
  let responder: Responder | undefined;
  // Keeps idle connections: a request over one that is being closed would fail.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const customer = decodeURIComponent(/^\/v1\/subscribers\/([^/]+)$/.exec(request.url ?? "")?.[1] ?? "");
    asked.push(customer);
    if (responder) return responder(response, customer);
    if (request.headers.authorization !== `Bearer ${KEY}`) return send(response, 401, { code: 7225 });
    send(response, 200, {
      request_date: new Date().toISOString(),
      subscriber: customers.get(customer) ?? subscriber({}),
    });
  });
  const address = await listen(server);
  return {
    config: { BILLING_API_KEY: KEY, BILLING_API_URL: `http://${address}/v1` },
    /** The customers, by App User ID. */
    customers,
    /** The App User IDs that were requested, in order. */
    asked,
    /** Replaces the response to every request, until it is called without an argument. */
    respondWith: (other?: Responder) => {
      responder = other;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Sends a JSON response. */
export function send(
  response: ServerResponse,
  status: number,
  json: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(json));
}

type Subscription = Record<string, unknown>;

/** A customer as the API returns it, with these subscriptions by product. */
export function subscriber(
  subscriptions: Record<string, Subscription>,
  nonSubscriptions: Record<string, Subscription[]> = {},
) {
  const products = [...Object.keys(subscriptions), ...Object.keys(nonSubscriptions)];
  const entitlement = (product: string) => ({
    expires_date: subscriptions[product]?.expires_date ?? null,
    grace_period_expires_date: null,
    product_identifier: product,
    purchase_date: "2026-11-01T09:00:00Z",
  });
  return {
    original_app_user_id: "$RCAnonymousID:9c8b7a6f5e4d3c2b1a09f8e7d6c5b4a3",
    management_url: null,
    first_seen: "2026-01-01T09:00:00Z",
    entitlements: Object.fromEntries(
      products.map((product, i) => [i === 0 ? "pro" : `pro-${i}`, entitlement(product)]),
    ),
    subscriptions,
    non_subscriptions: nonSubscriptions,
  };
}

/** A subscription as the API returns it. */
function subscription(fields: Subscription = {}): Subscription {
  return {
    auto_resume_date: null,
    billing_issues_detected_at: null,
    expires_date: "2026-12-01T09:00:00Z",
    grace_period_expires_date: null,
    is_sandbox: false,
    original_purchase_date: "2026-11-01T09:00:00Z",
    ownership_type: "PURCHASED",
    period_type: "normal",
    purchase_date: "2026-11-01T09:00:00Z",
    refunded_at: null,
    store: "app_store",
    store_transaction_id: "810000000000001",
    unsubscribe_detected_at: null,
    ...fields,
  };
}

export const iso = (ms: number) => new Date(ms).toISOString();

/** A purchase of one month by an account: its event, and the subscription as the API returns it. */
export function bought(
  account: { id: string },
  fields: Record<string, unknown> = {},
): { event: Sent; known: Record<string, unknown> } {
  const event = billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, product_id: "monthly", ...fields });
  const known = subscription({
    purchase_date: iso(event.purchased_at_ms as number),
    expires_date: iso(event.expiration_at_ms as number),
    store: String(event.store).toLowerCase(),
    store_transaction_id: event.transaction_id,
  });
  return { event, known };
}

/** An account that has bought one month, whose event was delivered. */
export async function newCustomer(fields: Record<string, unknown> = {}) {
  const ann = await newAccount();
  const purchase = bought(ann, fields);
  await deliverOk(purchase.event);
  return { ann, ...purchase };
}

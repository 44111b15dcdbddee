import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createBillingApis } from "@/lib/platform/adapters/billing-sources";
import type { ImportedPurchase, ImportedPurchases } from "@/lib/subscriptions/import/schema";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { listen } from "@/tests/support/network/listen";
import { apple, type Json, PROVIDERS } from "./providers";
import { send } from "./revenuecat";

export type Request = { method: string; url: URL; authorization: string | undefined; body: string };
type Responder = (url: URL, response: ServerResponse, request: Request) => unknown;
type Page = (url: URL, response: ServerResponse) => unknown;

/** A fake of a provider's API. A responder sends a response, or returns its JSON. */
export async function startProvider() {
  const requests: Request[] = [];
  let responder: Responder = () => ({});
  const server = createServer({ keepAliveTimeout: 0 }, async (request: IncomingMessage, response) => {
    const url = new URL(request.url ?? "", "http://provider");
    const { method = "", headers } = request;
    const given = { method, url, authorization: headers.authorization, body: await text(request) };
    requests.push(given);
    const body = await responder(url, response, given);
    if (!response.headersSent && !response.destroyed) send(response, 200, body);
  });
  const address = await listen(server);
  return {
    url: `http://${address}`,
    requests,
    respond: (next: Responder) => {
      responder = next;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

export const API_KEYS = {
  stripe: "rk_live_of_the_fake",
  paddle: "pdl_live_apikey_of_the_fake",
  appStore: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
};

/** Keys for the fake, as every provider's API. */
const settings = (url: string) => ({
  ...PROVIDERS,
  BILLING_STRIPE_API_KEY: API_KEYS.stripe,
  BILLING_STRIPE_API_URL: url,
  BILLING_PADDLE_API_KEY: API_KEYS.paddle,
  BILLING_PADDLE_API_URL: url,
  BILLING_APP_STORE_KEY: API_KEYS.appStore,
  BILLING_APP_STORE_KEY_ID: "2X9R4HXF34",
  BILLING_APP_STORE_ISSUER_ID: "57246542-96fe-1a63-e053-0824d011072a",
  BILLING_APP_STORE_API_URL: url,
});

/** Runs with keys for a fake. */
export function withKeys<T>(url: string, run: () => Promise<T>): Promise<T> {
  const config = settings(url);
  const { revenuecat } = ctx().billing;
  const billing = { ...createBillingApis({ ...ctx().config, ...config }), revenuecat };
  return withContext({ config, billing }, run);
}

/** Sends one request for an import. */
export async function postImport(query: Record<string, string>, body?: string) {
  const { key } = await newKey({ scopes: ["billing:write"] });
  const path = `/api/admin/billing/import?${new URLSearchParams(query)}`;
  const headers = { "content-type": "application/x-ndjson" };
  const response = await call("POST", path, { token: key, ...(body !== undefined && { body, headers }) });
  const json = (await response.json()) as ImportedPurchases & { code?: string; detail?: string };
  return { status: response.status, body: json };
}

export const requestImport = (url: string, query: Record<string, string>, body?: string) =>
  withKeys(url, () => postImport(query, body));

/** Imports until the end, or until the provider asks to wait. */
export async function importAll(
  url: string,
  query: Record<string, string>,
  body?: string,
): Promise<ImportedPurchase[]> {
  const results: ImportedPurchase[] = [];
  for (let cursor: string | null | undefined; ; ) {
    const page = await requestImport(url, { ...query, ...(cursor && { cursor }) }, body);
    if (page.status !== 200) throw new Error(`the import answered ${page.status}: ${JSON.stringify(page.body)}`);
    results.push(...page.body.results);
    cursor = page.body.nextCursor;
    if (cursor === null || page.body.retry) return results;
  }
}

const DAY_S = 24 * 60 * 60;
const nowSeconds = () => Math.floor(clock.now().getTime() / 1000);

/** "The Subscription object" of Stripe, in a list with expanded customers. It began yesterday, and lasts for 30 days. */
export function stripeSubscription(accountId: string | null, fields: Json = {}, email: string | null = null): Json {
  const start = nowSeconds() - DAY_S;
  const period = { current_period_start: start, current_period_end: start + 30 * DAY_S };
  const price = { id: "price_pro", object: "price", product: "prod_pro", metadata: {} };
  return {
    id: `sub_${randomUUID()}`,
    object: "subscription",
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, reason: null },
    created: start,
    customer: { id: `cus_${randomUUID()}`, object: "customer", email, name: "Ann Example" },
    ended_at: null,
    items: { object: "list", data: [{ id: "si_1", object: "subscription_item", ...period, price }] },
    livemode: true,
    metadata: accountId ? { accountId } : {},
    start_date: start,
    status: "active",
    ...fields,
  };
}

/** Stripe's list of subscriptions, in pages. */
export const stripeList =
  (subscriptions: readonly Json[], pageSize = 100): Page =>
  (url) => {
    const after = url.searchParams.get("starting_after");
    const start = after ? subscriptions.findIndex(({ id }) => id === after) + 1 : 0;
    const data = subscriptions.slice(start, start + pageSize);
    return { object: "list", url: "/v1/subscriptions", has_more: start + pageSize < subscriptions.length, data };
  };

const iso = (days: number) => new Date(clock.now().getTime() + days * DAY_S * 1000).toISOString();

/** A subscription as Paddle lists it. */
export function paddleSubscription(accountId: string | null, fields: Json = {}): Json {
  const price = {
    id: "pri_01gsz8x8sawmvhz1pv30nge1ke",
    product_id: "pro_01gsz4t5hdjse780zja8vvr7jg",
    custom_data: null,
  };
  return {
    id: `sub_${randomUUID()}`,
    status: "active",
    customer_id: `ctm_${randomUUID()}`,
    custom_data: accountId ? { accountId } : null,
    started_at: iso(-1),
    current_billing_period: { starts_at: iso(-1), ends_at: iso(29) },
    scheduled_change: null,
    items: [{ status: "active", quantity: 1, price: { ...price, billing_cycle: { interval: "month", frequency: 1 } } }],
    ...fields,
  };
}

/** Paddle's lists of subscriptions and of customers. */
export const paddleList =
  (subscriptions: readonly Json[], customers: readonly Json[] = []): Page =>
  ({ pathname }) => {
    const data = pathname === "/customers" ? customers : subscriptions;
    const pagination = { per_page: 200, next: "https://elsewhere.example/", has_more: false, estimated_total: 1 };
    return { data, meta: { request_id: randomUUID(), pagination } };
  };

/** A transaction of the App Store, bought now. */
export function appleTransaction(accountId: string | null, id: string, fields: Json = {}): Json {
  const purchaseDate = clock.now().getTime();
  return {
    transactionId: id,
    originalTransactionId: id,
    productId: "com.example.product",
    subscriptionGroupIdentifier: "55555",
    purchaseDate,
    originalPurchaseDate: purchaseDate,
    type: "Auto-Renewable Subscription",
    inAppOwnershipType: "PURCHASED",
    ...(accountId && { appAccountToken: accountId }),
    ...fields,
  };
}

/** Apple's response about a customer with one subscription. */
export function appleStatuses(transaction: Json, renewalInfo: Json, status = 1, { signed } = apple): Json {
  const part = (given: Json) =>
    signed({ ...given, environment: "Production", bundleId: "com.example", signedDate: clock.now().getTime() });
  const item = {
    originalTransactionId: transaction.originalTransactionId,
    status,
    signedTransactionInfo: part(transaction),
    signedRenewalInfo: part(renewalInfo),
  };
  const group = { subscriptionGroupIdentifier: "55555", lastTransactions: [item] };
  return { environment: "Production", appAppleId: 41_234, bundleId: "com.example", data: [group] };
}

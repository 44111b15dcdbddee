import { generateKeyPairSync, randomUUID } from "node:crypto";
import { clock } from "@/tests/support/clock";
import { apple, type Json, PROVIDERS } from "./providers";

export type Request = { method: string; url: URL; authorization: string | undefined; body: string };
/** What a provider lists at a URL. */
type Page = (url: URL) => unknown;

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

export const API_KEYS = {
  stripe: "rk_live_of_the_fake",
  paddle: "pdl_live_apikey_of_the_fake",
  appStore: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
};

/** Keys for the fake, as every provider's API. */
export const providerSettings = (url: string) => ({
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

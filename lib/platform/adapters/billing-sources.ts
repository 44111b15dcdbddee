import { sign } from "node:crypto";
import type { Config } from "../config";
import { type BillingApi, BillingApiError, createBillingApi, getJson } from "./billing-api";

/**
 * The APIs of the billing providers. Null: there is no key. They return JSON as it arrived, null for what the provider does not
 * know, and throw BillingApiError.
 */
export type BillingApis = {
  revenuecat: BillingApi | null;
  stripe: {
    isLive: boolean;
    listSubscriptions: (after: string | null) => Promise<unknown>;
    getSubscription: (id: string) => Promise<unknown>;
    getEvent: (id: string) => Promise<unknown>;
    /** The object at a path of the API. */
    getObject: (path: string) => Promise<unknown>;
    /** The active entitlements of a customer. */
    listEntitlements: (customer: string) => Promise<unknown>;
    /** The events of some types that were created from one time to another, in seconds since 1970. */
    listEvents: (query: {
      types: readonly string[];
      from: number;
      until: number;
      after: string | null;
    }) => Promise<unknown>;
    getInvoice: (id: string) => Promise<unknown>;
    /** Those of a PaymentIntent, with their invoices. */
    listInvoicePayments: (paymentIntentId: string) => Promise<unknown>;
  } | null;
  paddle: {
    environment: "PRODUCTION" | "SANDBOX";
    listSubscriptions: (after: string | null) => Promise<unknown>;
    listCustomers: (ids: readonly string[]) => Promise<unknown>;
    getSubscription: (id: string) => Promise<unknown>;
    getTransaction: (id: string) => Promise<unknown>;
    /** Newest first. */
    listEvents: (types: readonly string[], after: string | null) => Promise<unknown>;
  } | null;
  appStore: {
    getStatuses: (transactionId: string) => Promise<unknown>;
    getTransaction: (transactionId: string) => Promise<unknown>;
    lookUpOrder: (orderId: string) => Promise<unknown>;
    /** What Apple has sent about an app, between two times in milliseconds. */
    getNotifications: (
      bundleId: string,
      span: { startDate: number; endDate: number },
      paginationToken?: string | null,
    ) => Promise<unknown>;
  } | null;
};

/** A page has up to 200 subscriptions. */
const TIMEOUT_MS = 20_000;
const TOKEN_TTL_SECONDS = 10 * 60;
const PADDLE_URL = "https://api.paddle.com";
const PADDLE_SANDBOX_URL = "https://sandbox-api.paddle.com";

export function createBillingApis(config: Config): BillingApis {
  return {
    revenuecat: createBillingApi(config),
    stripe: openStripe(config),
    paddle: openPaddle(config),
    appStore: openAppStore(config),
  };
}

/** Stripe, "List all subscriptions", "Retrieve a subscription", "List all events". The expanded customer has the email. */
function openStripe({ BILLING_STRIPE_API_KEY: key, BILLING_STRIPE_API_URL: url }: Config): BillingApis["stripe"] {
  if (key === undefined) return null;
  const get = (path: string, query: Record<string, string> | URLSearchParams = {}) =>
    getJson(`${withoutSlash(url)}/v1/${path}?${new URLSearchParams(query)}`, key, TIMEOUT_MS);
  return {
    isLive: !/^[rs]k_test_/.test(key),
    listSubscriptions: (after) => {
      const query = {
        status: "all",
        limit: "100",
        "expand[]": "data.customer",
        ...(after && { starting_after: after }),
      };
      return get("subscriptions", query);
    },
    getSubscription: (id) => get(`subscriptions/${encodeURIComponent(id)}`).catch(nullIfUnknown),
    getEvent: (id) => get(`events/${encodeURIComponent(id)}`).catch(nullIfUnknown),
    getObject: (path) => get(path.replace(/^\/v1\//, "")).catch(nullIfUnknown),
    listEntitlements: (customer) =>
      get("entitlements/active_entitlements", { customer, limit: "100" }).catch(nullIfUnknown),
    listEvents: ({ types, from, until, after }) => {
      const query = new URLSearchParams(types.map((type) => ["types[]", type]));
      const page = { "created[gte]": `${from}`, "created[lte]": `${until}`, limit: "100" };
      for (const [name, value] of Object.entries({ ...page, ...(after && { starting_after: after }) }))
        query.append(name, value);
      return get("events", query);
    },
    getInvoice: (id) => get(`invoices/${encodeURIComponent(id)}`).catch(nullIfUnknown),
    listInvoicePayments: (id) => {
      const payment = { "payment[type]": "payment_intent", "payment[payment_intent]": id };
      return get("invoice_payments", { ...payment, "expand[]": "data.invoice" }).catch(nullIfUnknown);
    },
  };
}

/** Paddle's API ("Pagination"). Its keys say which environment they are of. */
function openPaddle({ BILLING_PADDLE_API_KEY: key, BILLING_PADDLE_API_URL: given }: Config): BillingApis["paddle"] {
  if (key === undefined) return null;
  const isSandbox = key.startsWith("pdl_sdbx_");
  const url = withoutSlash(given ?? (isSandbox ? PADDLE_SANDBOX_URL : PADDLE_URL));
  const get = (path: string, query: Record<string, string> = {}) =>
    getJson(`${url}/${path}?${new URLSearchParams(query)}`, key, TIMEOUT_MS);
  const list = (path: string, query: Record<string, string>) => get(path, { per_page: "200", ...query });
  return {
    environment: isSandbox ? "SANDBOX" : "PRODUCTION",
    listSubscriptions: (after) => list("subscriptions", { order_by: "id[ASC]", ...(after && { after }) }),
    listCustomers: (ids) => list("customers", { id: ids.join(",") }),
    getSubscription: (id) => get(`subscriptions/${encodeURIComponent(id)}`).catch(nullIfUnknown),
    getTransaction: (id) =>
      get(`transactions/${encodeURIComponent(id)}`, { include: "adjustments" }).catch(nullIfUnknown),
    listEvents: (types, after) =>
      list("events", { event_type: types.join(","), order_by: "id[DESC]", ...(after && { after }) }),
  };
}

/** App Store Server API. A transaction belongs to one of the team's apps. */
function openAppStore(config: Config): BillingApis["appStore"] {
  const { BILLING_APP_STORE_KEY: key, BILLING_APP_STORE_API_URL: url, BILLING_APP_STORE_APPS: apps } = config;
  if (key === undefined) return null;
  const request = (bundleId: string, path: string, body?: object) =>
    getJson(`${withoutSlash(url)}/inApps/v1/${path}`, appStoreToken(config, key, bundleId), TIMEOUT_MS, body);
  const ofAnyApp =
    (kind: string, isFound = (found: unknown): boolean => found !== null) =>
    async (id: string) => {
      for (const { bundleId } of apps) {
        const found = await request(bundleId, `${kind}/${encodeURIComponent(id)}`).catch(nullIfUnknown);
        if (isFound(found)) return found;
      }
      return null;
    };
  return {
    getStatuses: ofAnyApp("subscriptions"),
    getTransaction: ofAnyApp("transactions"),
    // "OrderLookupStatus": 0 if the order is one of the app.
    lookUpOrder: ofAnyApp("lookup", (found) => Object(found).status === 0),
    getNotifications: (bundleId, span, paginationToken) => {
      const query = new URLSearchParams(paginationToken ? { paginationToken } : {});
      return request(bundleId, `notifications/history?${query}`, span);
    },
  };
}

/** "Generating JSON Web Tokens for API requests". */
function appStoreToken(config: Config, key: string, bid: string): string {
  const { BILLING_APP_STORE_KEY_ID: kid, BILLING_APP_STORE_ISSUER_ID: iss } = config;
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss, iat, exp: iat + TOKEN_TTL_SECONDS, aud: "appstoreconnect-v1", bid };
  const parts = [{ alg: "ES256", kid, typ: "JWT" }, claims];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof BillingApiError && error.status === 404) return null;
  throw error;
}

const withoutSlash = (url: string) => url.replace(/\/$/, "");

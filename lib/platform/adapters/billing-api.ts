import type { Config } from "../config";
import { readJson } from "../outbound";

/** RevenueCat's API. */
export type BillingApi = {
  /** Returns a customer as JSON. @throws BillingApiError, within five seconds */
  getCustomer: (appUserId: string) => Promise<unknown>;
};

/**
 * The provider did not respond, or with an error: `status`. `retryAfterSeconds` is its Retry-After with the status 429, a day
 * at most.
 */
export class BillingApiError extends Error {
  override readonly name = "BillingApiError";
  status?: number;
  retryAfterSeconds?: number;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 16 * 1024 * 1024;
const DEFAULT_RETRY_AFTER_SECONDS = 60;
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

/** Opens RevenueCat's REST API v1 with `BILLING_API_KEY`; null without a key, and for other providers. */
export function createBillingApi(config: Config): BillingApi | null {
  const { BILLING_API_KEY: key, BILLING_API_URL: url, BILLING_PROVIDER: provider } = config;
  if (key === undefined || provider !== "revenuecat") return null;
  const base = url.replace(/\/$/, "");
  return { getCustomer: (appUserId) => getJson(`${base}/subscribers/${encodeURIComponent(appUserId)}`, key) };
}

/** Reads JSON from a provider's API with a bearer token; sends a body, if there is one, by POST. @throws BillingApiError */
export async function getJson(url: string, token: string, timeoutMs = TIMEOUT_MS, body?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  const post = body && { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(url, {
    ...post,
    headers: { ...headers, ...(post && { "content-type": "application/json" }) },
    redirect: "error", // a redirect would send the token to another host
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause: unknown) => {
    throw new BillingApiError("the billing provider is unreachable", { cause });
  });
  if (!response.ok) {
    await response.body?.cancel();
    const { status, headers } = response;
    const error = new BillingApiError(`the billing provider returned status ${status}`);
    error.status = status;
    if (status === 429) error.retryAfterSeconds = retryAfterOf(headers.get("retry-after"));
    throw error;
  }
  return readJson(response, MAX_BYTES).catch((cause: unknown) => {
    const error = new BillingApiError("the billing provider's response is not JSON", { cause });
    error.status = response.status;
    throw error;
  });
}

/** Apple's Retry-After is a UNIX time in milliseconds ("Identifying rate limits"), that of others in seconds (RFC 9110). */
function retryAfterOf(header: string | null): number {
  if (header === null || !/^\d+$/.test(header)) return DEFAULT_RETRY_AFTER_SECONDS;
  const isTime = Number(header) >= Date.UTC(2001, 0);
  const seconds = isTime ? Math.max(Math.ceil((Number(header) - Date.now()) / 1000), 0) : Number(header);
  return Math.min(seconds, MAX_RETRY_AFTER_SECONDS);
}

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

/** Reads JSON from a provider's API with a bearer token. @throws BillingApiError */
export async function getJson(url: string, token: string, timeoutMs = TIMEOUT_MS): Promise<unknown> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: "application/json" },
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
    const given = headers.get("retry-after") ?? "";
    const seconds = /^\d+$/.test(given) ? Number(given) : DEFAULT_RETRY_AFTER_SECONDS;
    if (status === 429) error.retryAfterSeconds = Math.min(seconds, MAX_RETRY_AFTER_SECONDS);
    throw error;
  }
  return readJson(response, MAX_BYTES).catch((cause: unknown) => {
    const error = new BillingApiError("the billing provider's response is not JSON", { cause });
    error.status = response.status;
    throw error;
  });
}

import type { Config } from "../config";

const TIMEOUT_MS = 5_000;
const TOO_MANY_REQUESTS = 429;
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

/** The subscription-management provider's own API, for asking what it knows. */
export type BillingApi = {
  /**
   * What the provider knows of a customer, as JSON: RevenueCat, "REST API v1", Get Customer Info.
   * @throws BillingApiError within five seconds
   */
  getCustomer: (name: string) => Promise<unknown>;
};

/** The provider did not answer, or not as it should. `retryAfterSeconds` where it said when to come again: a day at most. */
class BillingApiError extends Error {
  override readonly name = "BillingApiError";
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The API that `BILLING_API_KEY` opens; null without a key, and for a provider that has none. */
export function createBillingApi(config: Config): BillingApi | null {
  const { BILLING_API_KEY: key, BILLING_API_URL: url, BILLING_PROVIDER: provider } = config;
  if (key === undefined || provider !== "revenuecat") return null;
  return { getCustomer: (name) => request(`${url.replace(/\/+$/, "")}/subscribers/${encodeURIComponent(name)}`, key) };
}

async function request(url: string, key: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${key}`, accept: "application/json" },
    redirect: "error", // the key is for this host alone
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw new BillingApiError("the billing provider cannot be reached", { cause });
  });
  if (!response.ok) {
    await response.body?.cancel();
    const { status, headers } = response;
    throw new BillingApiError(`the billing provider answered ${status}`, {
      retryAfterSeconds: status === TOO_MANY_REQUESTS ? retryAfter(headers.get("retry-after")) : undefined,
    });
  }
  return response.json().catch((cause: unknown) => {
    throw new BillingApiError("the billing provider's answer is no JSON", { cause });
  });
}

/** RFC 9110, section 10.2.3, in its form of seconds, a day at most; a minute where it says anything else. */
function retryAfter(value: string | null): number {
  return value !== null && /^\d+$/.test(value) ? Math.min(Number(value), MAX_RETRY_AFTER_SECONDS) : 60;
}

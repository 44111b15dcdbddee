import type { Client } from "./http/client.js";
import { HomeportError } from "./http/problem.js";
import { readJson, request, type Schemas } from "./http/request.js";

export type SubscriptionStatus = Schemas["SubscriptionStatus"];

/** How long the service holds a request that waits for a change. */
const WAIT_SECONDS = 30;
const RETRY_MS = 5_000;
/** A service that is stopping does not hold requests. */
const PAUSE_MS = 1_000;

/**
 * The subscription status of the signed-in user. With `isFresh`, the service asks the billing provider first: use it right
 * after a purchase. @throws HomeportError such as `unauthenticated`, `network_error`
 */
export function getSubscriptionStatus(
  client: Client,
  { isFresh, signal }: { isFresh?: boolean; signal?: AbortSignal } = {},
): Promise<SubscriptionStatus> {
  const query = isFresh ? { fresh: "1" as const } : {};
  return request(client, "GET", "/api/subscription/status", { query, ...(signal && { signal }) });
}

/**
 * Yields the status at once and after each change, within a second. Continues while the service cannot be reached; ends
 * when the signal is aborted. @throws HomeportError such as `unauthenticated`
 */
export async function* watchSubscriptionStatus(
  client: Client,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<SubscriptionStatus, void> {
  let since = "";
  while (!signal?.aborted) {
    const next = await nextStatus(client, since, signal).catch((error: unknown) => {
      if (signal?.aborted || isTransient(error)) return null;
      throw error;
    });
    if (next && next.etag !== since) {
      since = next.etag;
      yield next.status;
    } else {
      await client.wait(next ? PAUSE_MS : RETRY_MS, signal).catch(() => {}); // the signal was aborted
    }
  }
}

/** The status once it differs from `since`, or the same after half a minute. */
async function nextStatus(client: Client, since: string, signal?: AbortSignal) {
  const query = new URLSearchParams({ since, wait: String(WAIT_SECONDS) });
  const response = await client.send("GET", `/api/subscription/status?${query}`, {
    timeoutSeconds: 2 * WAIT_SECONDS,
    ...(signal && { signal }),
  });
  return { etag: response.headers.get("etag") ?? "", status: (await readJson(response)) as SubscriptionStatus };
}

const isTransient = (error: unknown) =>
  error instanceof HomeportError && (error.status === 0 || error.status === 429 || error.status >= 500);

/** Whether a status gives access to an entitlement. */
export function isEntitledTo(
  { entitlements }: { entitlements: readonly { id: string; isActive: boolean }[] },
  entitlementId: string,
): boolean {
  return entitlements.some(({ id, isActive }) => id === entitlementId && isActive);
}

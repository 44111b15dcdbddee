import type { Client } from "./http/client.js";
import { request, type Schemas } from "./http/request.js";

export type SubscriptionStatus = Schemas["SubscriptionStatus"];

/** The subscription status of the signed-in user. @throws HomeportError such as `unauthenticated`, `network_error` */
export function getSubscriptionStatus(client: Client): Promise<SubscriptionStatus> {
  return request(client, "GET", "/api/subscription/status");
}

/** Whether a status gives access to an entitlement. */
export function isEntitledTo(
  { entitlements }: { entitlements: readonly { id: string; isActive: boolean }[] },
  entitlementId: string,
): boolean {
  return entitlements.some(({ id, isActive }) => id === entitlementId && isActive);
}

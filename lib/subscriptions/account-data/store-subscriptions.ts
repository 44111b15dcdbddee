import type { Context, Tx } from "../../context";
import { readStatus } from "../status/read-status";

/**
 * Lists an account's subscriptions that a store may still charge for or give access to: those that renew, and those
 * whose access has not ended. A server cannot cancel them. `expiresAt` is when access ends.
 */
export async function listStoreSubscriptions(deps: Pick<Context, "config" | "now"> & { db: Tx }, accountId: string) {
  const { subscriptions, checkedAt } = (await readStatus(deps, accountId)).status;
  return subscriptions.flatMap(({ store, status, accessEndsAt: expiresAt, willRenew, managementUrl }) =>
    store !== null && (willRenew || (expiresAt !== null && expiresAt > checkedAt))
      ? [{ store, status, expiresAt, managementUrl }]
      : [],
  );
}

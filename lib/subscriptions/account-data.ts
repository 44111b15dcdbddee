import type { Context, Tx } from "../context";
import { readSubscriptionStatus } from "./subscription-status";

/**
 * What a store may still charge for, or give access to: the lines with an end to come, and those that renew.
 * A server cannot cancel them. `expiresAt` is when access ends as things stand.
 */
export async function accountSubscriptions(deps: Pick<Context, "config" | "now"> & { db: Tx }, accountId: string) {
  const { subscriptions, checkedAt } = await readSubscriptionStatus(deps, accountId);
  return subscriptions.flatMap(({ store, status, accessEndsAt: expiresAt, willRenew, managementUrl }) =>
    store !== null && (willRenew || (expiresAt !== null && expiresAt > checkedAt))
      ? [{ store, status, expiresAt, managementUrl }]
      : [],
  );
}

/**
 * Everything billing keeps about an account, oldest first, for its data export: its lines and its events, linked
 * or not, with the deliveries as they came.
 */
export async function exportBilling(tx: Tx, accountId: string) {
  const named = [{ accountId }, { accountId: null, identities: { has: accountId } }];
  return {
    subscriptions: await tx.subscriptionLine.findMany({
      where: { OR: named },
      omit: { id: true, accountId: true },
      orderBy: { createdAt: "asc" },
    }),
    billingEvents: await tx.billingEvent.findMany({
      where: { OR: [...named, { accountId: null, line: { accountId } }] },
      omit: { id: true, accountId: true, lineId: true },
      orderBy: { receivedAt: "asc" },
    }),
  };
}

/**
 * Takes an account out of the billing history, inside the transaction that deletes it: no account id, no
 * customer name, no delivery with its attributes and addresses. What the fold needs stays. Where the history
 * is another account's and only names this one, that name goes.
 */
export async function detachBilling(tx: Tx, accountId: string): Promise<void> {
  // Events before lines, the order in which the inbox locks them.
  await tx.$executeRaw`
    UPDATE "BillingEvent" SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      "appUserId" = CASE
        WHEN COALESCE("accountId", ${accountId}::uuid) = ${accountId}::uuid OR lower("appUserId") = ${accountId} THEN NULL
        ELSE "appUserId" END,
      identities = CASE
        WHEN COALESCE("accountId", ${accountId}::uuid) = ${accountId}::uuid THEN '{}'
        ELSE array_remove(identities, ${accountId}) END,
      payload = NULL
    WHERE "accountId" = ${accountId}::uuid OR identities @> ARRAY[${accountId}] OR (
      "accountId" IS NULL AND "lineId" IN (SELECT id FROM "SubscriptionLine" WHERE "accountId" = ${accountId}::uuid)
    )`;
  await tx.$executeRaw`
    UPDATE "SubscriptionLine" SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      identities = CASE
        WHEN COALESCE("accountId", ${accountId}::uuid) = ${accountId}::uuid THEN '{}'
        ELSE array_remove(identities, ${accountId}) END
    WHERE "accountId" = ${accountId}::uuid OR identities @> ARRAY[${accountId}]`;
}

import { randomUUID } from "node:crypto";
import type { Context, Tx } from "../context";
import { currentStatus } from "./subscription-status";

/**
 * What a store may still charge for, or give access to: the lines with an end to come, and those that renew.
 * A server cannot cancel them. `expiresAt` is when access ends as things stand.
 */
export async function accountSubscriptions(deps: Pick<Context, "config" | "now"> & { db: Tx }, accountId: string) {
  const { subscriptions, checkedAt } = (await currentStatus(deps, accountId)).status;
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
      omit: { id: true, accountId: true, askedAt: true },
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
 * Takes an account out of the billing history, inside the transaction that deletes it: no account id, no customer
 * name, no delivery. What the fold needs stays, and so does who handed a line to whom: one new name that means
 * nothing stands for all that the person had. The account is locked first, then events, then lines, as in the inbox.
 */
export async function detachBilling(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM "Account" WHERE id = ${accountId}::uuid FOR UPDATE`;
  const names = await namesOf(tx, accountId);
  const nobody = `deleted:${randomUUID()}`;
  await tx.$executeRaw`
    UPDATE "BillingEvent" AS event SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      "appUserId" = CASE WHEN "accountId" <> ${accountId}::uuid AND NOT lower("appUserId") = ANY(${names}::text[])
        AND NOT "appUserId" = ANY(${names}::text[]) THEN "appUserId" END,
      identities = CASE WHEN "accountId" = ${accountId}::uuid AND cardinality("transferredFrom") = 0 THEN ARRAY[${nobody}]
        ELSE ARRAY(SELECT CASE WHEN name = ANY(${names}::text[]) THEN ${nobody} ELSE name END
          FROM unnest(identities) WITH ORDINALITY AS named (name, at) ORDER BY at) END,
      "transferredFrom" = ARRAY(SELECT CASE WHEN name = ANY(${names}::text[]) THEN ${nobody} ELSE name END
        FROM unnest("transferredFrom") WITH ORDINALITY AS named (name, at) ORDER BY at),
      payload = NULL
    FROM (
      SELECT id FROM "BillingEvent"
      WHERE "accountId" = ${accountId}::uuid OR identities && ${names}::text[] OR (
        "accountId" IS NULL AND "lineId" IN (SELECT id FROM "SubscriptionLine" WHERE "accountId" = ${accountId}::uuid)
      )
      ORDER BY id FOR UPDATE
    ) AS named WHERE event.id = named.id`;
  await tx.$executeRaw`
    UPDATE "SubscriptionLine" SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      identities = CASE WHEN "accountId" = ${accountId}::uuid THEN ARRAY[${nobody}]
        ELSE ARRAY(SELECT CASE WHEN name = ANY(${names}::text[]) THEN ${nobody} ELSE name END
          FROM unnest(identities) WITH ORDINALITY AS named (name, at) ORDER BY at) END
    WHERE "accountId" = ${accountId}::uuid OR identities && ${names}::text[]`;
}

/** Every name of a customer that is this account's and no other account's id, as the provider's events give them. */
async function namesOf(tx: Tx, accountId: string): Promise<string[]> {
  const rows = await tx.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT name FROM (
      SELECT unnest(identities) AS name FROM "BillingEvent"
      WHERE cardinality("transferredFrom") = 0 AND ("accountId" = ${accountId}::uuid OR (
        "accountId" IS NULL AND "lineId" IN (SELECT id FROM "SubscriptionLine" WHERE "accountId" = ${accountId}::uuid)))
      UNION ALL SELECT unnest(identities) FROM "SubscriptionLine" WHERE "accountId" = ${accountId}::uuid
    ) AS named
    WHERE NOT EXISTS (SELECT 1 FROM "Account" WHERE "Account".id::text = name AND "Account".id <> ${accountId}::uuid)`;
  return [...new Set([accountId, ...rows.map(({ name }) => name)])];
}

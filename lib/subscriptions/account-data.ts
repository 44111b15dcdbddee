import type { Context, Tx } from "../context";
import { isPseudonym, normalizeAppUserIds, possibleAccountIds, pseudonymOf } from "./app-user-ids";
import { currentStatus } from "./subscription-status";

/**
 * What a store may still charge for, or give access to: the purchases with an end to come, and those that renew.
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
 * Everything billing keeps about an account, oldest first, for its data export: its purchases and its events, linked
 * or not, with the deliveries as they came but for the names of other people.
 */
export async function exportBilling(tx: Tx, accountId: string) {
  const named = [{ accountId }, { accountId: null, appUserIds: { has: accountId } }];
  const purchases = await tx.purchase.findMany({
    where: { OR: named },
    omit: { reconciledAt: true },
    orderBy: { createdAt: "asc" },
  });
  // By their ids: no index of events answers a condition on the purchase's row.
  const own = purchases.filter((purchase) => purchase.accountId === accountId);
  const events = await tx.billingEvent.findMany({
    where: { OR: [...named, { accountId: null, purchaseId: { in: own.map(({ id }) => id) } }] },
    omit: { id: true, accountId: true, purchaseId: true, attempts: true, nextAttemptAt: true },
    orderBy: { receivedAt: "asc" },
  });
  return {
    subscriptions: purchases.map(({ id: _, accountId: __, appUserIds: identities, ...purchase }) =>
      withoutNames({ ...purchase, identities }, othersIn(identities, [], accountId)),
    ),
    billingEvents: events.map(({ appUserIds: identities, facts: normalized, ...event }) =>
      withoutNames({ ...event, identities, normalized }, othersIn(identities, event.transferredFrom, accountId)),
    ),
  };
}

/** The names that are not this account's: other accounts' ids, stand-ins, and all on the other side of a transfer. */
function othersIn(appUserIds: string[], transferredFrom: string[], accountId: string): Set<string> {
  const gives = transferredFrom.includes(accountId);
  const isTransfer = transferredFrom.length > 0;
  const ids = new Set(possibleAccountIds(appUserIds));
  const others = appUserIds.filter(
    (name) => ids.has(name) || isPseudonym(name) || (isTransfer && transferredFrom.includes(name) !== gives),
  );
  return new Set(others.filter((name) => name !== accountId));
}

/** A value without these names, however deep they are in it: a list loses them, a field is null. */
function withoutNames<T>(value: T, names: Set<string>): T;
function withoutNames(value: unknown, names: Set<string>): unknown {
  const isOne = (item: unknown) =>
    typeof item === "string" && normalizeAppUserIds([item]).some((name) => names.has(name));
  if (isOne(value)) return null;
  if (Array.isArray(value)) return value.filter((item) => !isOne(item)).map((item) => withoutNames(item, names));
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (isOne(key) ? [] : [[key, withoutNames(item, names)]])),
  );
}

/**
 * Takes an account out of the billing history, inside the transaction that deletes it: no account id, no customer
 * name, no delivery. What the fold needs stays, and so does who handed a purchase to whom: one stand-in takes the place of
 * all names that the person had. The account is locked first, then events, then purchases, as in the inbox.
 */
export async function detachBilling(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM "Account" WHERE id = ${accountId}::uuid FOR UPDATE`;
  const purchases = await tx.purchase.findMany({ where: { accountId }, select: { id: true, appUserIds: true } });
  const purchaseIds = purchases.map(({ id }) => id);
  const names = await namesOf(tx, accountId, purchases);
  const nobody = pseudonymOf(accountId);
  await tx.$executeRaw`
    UPDATE "BillingEvent" AS event SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      "appUserId" = CASE WHEN "accountId" <> ${accountId}::uuid AND NOT lower("appUserId") = ANY(${names}::text[])
        AND NOT "appUserId" = ANY(${names}::text[]) THEN "appUserId" END,
      "appUserIds" = CASE WHEN "accountId" = ${accountId}::uuid AND cardinality("transferredFrom") = 0 THEN ARRAY[${nobody}]
        ELSE ARRAY(SELECT CASE WHEN name = ANY(${names}::text[]) THEN ${nobody} ELSE name END
          FROM unnest("appUserIds") WITH ORDINALITY AS named (name, at) ORDER BY at) END,
      "transferredFrom" = ARRAY(SELECT CASE WHEN name = ANY(${names}::text[]) THEN ${nobody} ELSE name END
        FROM unnest("transferredFrom") WITH ORDINALITY AS named (name, at) ORDER BY at),
      payload = NULL
    FROM (
      SELECT id FROM "BillingEvent" WHERE id = ANY(ARRAY(
        SELECT id FROM "BillingEvent" WHERE "accountId" = ${accountId}::uuid
        UNION SELECT id FROM "BillingEvent" WHERE "appUserIds" && ${names}::text[]
        UNION SELECT id FROM "BillingEvent" WHERE "accountId" IS NULL AND "purchaseId" = ANY(${purchaseIds}::uuid[])
      )) ORDER BY id FOR UPDATE
    ) AS named WHERE event.id = named.id`;
  await tx.$executeRaw`
    DELETE FROM "ReconcileJob" WHERE "appUserId" = ANY(${names}::text[]) OR lower("appUserId") = ANY(${names}::text[])`;
  await tx.$executeRaw`
    UPDATE "Purchase" SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      "appUserIds" = CASE WHEN "accountId" = ${accountId}::uuid THEN ARRAY[${nobody}]
        ELSE ARRAY(SELECT CASE WHEN name = ANY(${names}::text[]) THEN ${nobody} ELSE name END
          FROM unnest("appUserIds") WITH ORDINALITY AS named (name, at) ORDER BY at) END
    WHERE "accountId" = ${accountId}::uuid OR "appUserIds" && ${names}::text[]`;
}

/**
 * Every name of a customer that is this account's, as the provider's events give them: no other account's id, no name
 * that only another account's events give to the customer, and no stand-in of whoever had a purchase before.
 */
async function namesOf(
  tx: Tx,
  accountId: string,
  purchases: { id: string; appUserIds: string[] }[],
): Promise<string[]> {
  const purchaseIds = purchases.map(({ id }) => id);
  const purchaseNames = purchases.flatMap(({ appUserIds }) => appUserIds);
  const own = await tx.$queryRaw<{ name: string }[]>`
    SELECT unnest("appUserIds") AS name FROM "BillingEvent"
    WHERE cardinality("transferredFrom") = 0 AND "accountId" = ${accountId}::uuid
    UNION SELECT unnest("appUserIds") FROM "BillingEvent"
    WHERE cardinality("transferredFrom") = 0 AND "accountId" IS NULL AND "purchaseId" = ANY(${purchaseIds}::uuid[])`;
  const ofOthers = await tx.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT unnest("appUserIds") AS name FROM "BillingEvent"
    WHERE "appUserIds" && ${purchaseNames}::text[] AND "accountId" <> ${accountId}::uuid AND cardinality("transferredFrom") = 0`;
  const givenToOthers = new Set(ofOthers.map(({ name }) => name));
  const names = [...own.map(({ name }) => name), ...purchaseNames.filter((name) => !givenToOthers.has(name))];
  const accounts = await tx.account.findMany({
    where: { id: { in: possibleAccountIds(names), not: accountId } },
    select: { id: true },
  });
  const others = new Set(accounts.map(({ id }) => id));
  return [...new Set([accountId, ...names.filter((name) => !others.has(name) && !isPseudonym(name))])];
}

import type { Context, Tx } from "../context";
import { sql } from "../platform/db/sql";
import { isPseudonym, possibleAccountIds, pseudonymOf } from "./app-user-ids";
import { CONSENT_WITHDRAWN } from "./events";
import { revenueCat } from "./providers/revenuecat";

type Sql = ReturnType<Context["dbNow"]>;
type OwnPurchase = { id: string; appUserIds: string[] };
/** The account to remove, its App User IDs, and the pseudonym that replaces them. */
type Customer = { accountId: string; appUserIds: string[]; pseudonym: string };

/**
 * Removes an account from the billing history, in the transaction that deletes it: its id, its App User IDs, the ids of
 * its downloads of the app, the payloads of its deliveries, and who granted it what and why. Keeps what the fold needs, and who transferred purchases to
 * whom: one pseudonym replaces all App User IDs of the account. Locks the account, then events, then purchases, as the inbox
 * does.
 */
export async function anonymizeBilling(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM "Account" WHERE id = ${accountId}::uuid FOR UPDATE`;
  const purchases = await tx.purchase.findMany({ where: { accountId }, select: { id: true, appUserIds: true } });
  const appUserIds = await findAppUserIds(tx, accountId, purchases);
  const customer = { accountId, appUserIds, pseudonym: pseudonymOf(accountId) };
  const providerAppUserIds = await findProviderAppUserIds(tx, appUserIds);
  await anonymizeEvents(tx, customer, purchases);
  const reference = { in: [...appUserIds, ...providerAppUserIds] };
  await tx.reconcileJob.deleteMany({ where: { appUserId: reference } });
  await tx.billingReconcileJob.deleteMany({ where: { provider: revenueCat.name, reference } });
  await tx.$executeRaw`
    DELETE FROM "BillingReconcileJob" AS job USING "Purchase" AS purchase
    WHERE purchase."accountId" = ${accountId}::uuid
      AND job.provider = purchase.provider AND job.reference = purchase."originalTransactionId"`;
  await anonymizePurchases(tx, customer);
}

async function anonymizeEvents(tx: Tx, customer: Customer, purchases: OwnPurchase[]): Promise<void> {
  const { accountId, appUserIds, pseudonym } = customer;
  const purchaseIds = purchases.map(({ id }) => id);
  await tx.$executeRaw`
    UPDATE "BillingEvent" AS event SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      "appUserId" = CASE WHEN "accountId" <> ${accountId}::uuid AND NOT lower("appUserId") = ANY(${appUserIds}::text[])
        AND NOT "appUserId" = ANY(${appUserIds}::text[]) THEN "appUserId" END,
      "appUserIds" = CASE WHEN "accountId" = ${accountId}::uuid AND cardinality("transferredFrom") = 0
        THEN ARRAY[${pseudonym}] ELSE ${withPseudonym(sql`"appUserIds"`, customer)} END,
      "transferredFrom" = ${withPseudonym(sql`"transferredFrom"`, customer)},
      "transactionId" = CASE WHEN type <> ${CONSENT_WITHDRAWN} THEN "transactionId" END,
      facts = facts - 'operator' - 'appTransactionId', payload = NULL
    FROM (
      SELECT id FROM "BillingEvent" WHERE id = ANY(ARRAY(
        SELECT id FROM "BillingEvent" WHERE "accountId" = ${accountId}::uuid
        UNION SELECT id FROM "BillingEvent" WHERE "appUserIds" && ${appUserIds}::text[]
        UNION SELECT id FROM "BillingEvent" WHERE "accountId" IS NULL AND "purchaseId" = ANY(${purchaseIds}::uuid[])
      )) ORDER BY id FOR UPDATE
    ) AS locked WHERE event.id = locked.id`;
}

/** Returns the App User IDs as the provider wrote them, which reconcile jobs contain. */
async function findProviderAppUserIds(tx: Tx, appUserIds: string[]): Promise<string[]> {
  const rows = await tx.$queryRaw<{ appUserId: string }[]>`
    SELECT DISTINCT "appUserId" FROM "BillingEvent"
    WHERE "appUserIds" && ${appUserIds}::text[] AND lower("appUserId") = ANY(${appUserIds}::text[])`;
  return rows.map(({ appUserId }) => appUserId);
}

async function anonymizePurchases(tx: Tx, customer: Customer): Promise<void> {
  const { accountId, appUserIds, pseudonym } = customer;
  await tx.$executeRaw`
    UPDATE "Purchase" AS purchase SET
      "accountId" = NULLIF("accountId", ${accountId}::uuid),
      "appUserIds" = CASE WHEN "accountId" = ${accountId}::uuid THEN ARRAY[${pseudonym}]
        ELSE ${withPseudonym(sql`"appUserIds"`, customer)} END,
      "appTransactionId" = CASE WHEN "accountId" <> ${accountId}::uuid THEN "appTransactionId" END
    FROM (
      SELECT id FROM "Purchase" WHERE id = ANY(ARRAY(
        SELECT id FROM "Purchase" WHERE "accountId" = ${accountId}::uuid
        UNION SELECT id FROM "Purchase" WHERE "appUserIds" && ${appUserIds}::text[]
      )) ORDER BY provider, environment, store, "originalTransactionId" FOR UPDATE
    ) AS locked WHERE purchase.id = locked.id`;
}

/** The elements of an array column in order, with the pseudonym for each of the customer's App User IDs. */
function withPseudonym(column: Sql, { appUserIds, pseudonym }: Customer): Sql {
  return sql`ARRAY(SELECT CASE WHEN id = ANY(${appUserIds}::text[]) THEN ${pseudonym} ELSE id END
    FROM unnest(${column}) WITH ORDINALITY AS named (id, ordinal) ORDER BY ordinal)`;
}

/**
 * Finds all App User IDs of an account's customer in the provider's events. Leaves out other account ids, pseudonyms of
 * previous owners, and ids that the events of another account name: under one pseudonym, the other account would have what
 * this one has bought.
 */
async function findAppUserIds(tx: Tx, accountId: string, purchases: OwnPurchase[]): Promise<string[]> {
  const candidates = [
    ...(await findIdsInEvents(tx, accountId, purchases)),
    ...purchases.flatMap(({ appUserIds }) => appUserIds),
  ];
  const isOfOther = sql`"appUserIds" && ${candidates}::text[] AND "accountId" <> ${accountId}::uuid`;
  const ofOthers = new Set(await findIdsNamed(tx, isOfOther));
  const accounts = await tx.account.findMany({
    where: { id: { in: possibleAccountIds(candidates), not: accountId } },
    select: { id: true },
  });
  for (const { id } of accounts) ofOthers.add(id);
  return [...new Set([accountId, ...candidates.filter((id) => !ofOthers.has(id) && !isPseudonym(id))])];
}

/** App User IDs in the account's own events, except transfers. */
async function findIdsInEvents(tx: Tx, accountId: string, purchases: OwnPurchase[]): Promise<string[]> {
  const purchaseIds = purchases.map(({ id }) => id);
  const inEvents = await findIdsNamed(tx, sql`"accountId" = ${accountId}::uuid`);
  const ofPurchases = sql`"accountId" IS NULL AND "purchaseId" = ANY(${purchaseIds}::uuid[])`;
  return [...inEvents, ...(await findIdsNamed(tx, ofPurchases))];
}

/** Reads each id once: an app may have given many customers the same one. */
async function findIdsNamed(tx: Tx, where: Sql): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT unnest("appUserIds") AS id FROM "BillingEvent" WHERE cardinality("transferredFrom") = 0 AND ${where}`;
  return rows.map(({ id }) => id);
}

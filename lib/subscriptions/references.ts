import type { Tx } from "../context";
import type { Prisma } from "../platform/db/generated/client";
import { sql } from "../platform/db/sql";
import { revenueCat } from "./providers/revenuecat";
import type { Source } from "./sources/source";

/**
 * What a provider's API is asked about: a customer of RevenueCat by the App User ID as it wrote it, a purchase of the others
 * by its original transaction.
 */
export type Reference = { provider: string; reference: string };

/** Returns by which references the APIs of these providers know purchases. */
export async function findReferences(db: Tx, sources: readonly Source[], purchaseIds: string[]): Promise<Reference[]> {
  if (purchaseIds.length === 0) return [];
  const names = sources.map(({ provider }) => provider);
  const customers = names.includes(revenueCat.name) ? await findAppUserIds(db, purchaseIds) : [];
  const purchases = await db.purchase.findMany({
    where: { id: { in: purchaseIds }, provider: { in: names.filter((name) => name !== revenueCat.name) } },
    select: { provider: true, originalTransactionId: true },
    orderBy: { originalTransactionId: "asc" },
  });
  return [
    ...customers.map((reference) => ({ provider: revenueCat.name, reference })),
    ...purchases.map(({ provider, originalTransactionId: reference }) => ({ provider, reference })),
  ];
}

/** Returns by which references the APIs of these providers know an account: RevenueCat's, also one without purchases. */
export async function findAccountReferences(db: Tx, sources: readonly Source[], accountId: string) {
  const purchases = await db.purchase.findMany({ where: { accountId }, select: { id: true } });
  const ids = purchases.map(({ id }) => id);
  const found = await findReferences(db, sources, ids);
  const isKnown = found.some(({ provider }) => provider === revenueCat.name);
  if (isKnown || !sources.some(({ provider }) => provider === revenueCat.name)) return found;
  return [{ provider: revenueCat.name, reference: await findAppUserId(db, accountId) }, ...found];
}

/**
 * The App User ID of an account, as SQL: its id as the provider wrote it, if an event names it. `accountId` is SQL for a
 * text.
 */
export const appUserIdOf = (accountId: Prisma.Sql): Prisma.Sql => sql`
  COALESCE((
    SELECT "appUserId" FROM "BillingEvent" AS event
    WHERE provider IS NOT DISTINCT FROM ${revenueCat.name} AND "appUserIds" @> ARRAY[${accountId}]
      AND lower("appUserId") = ${accountId}
    ORDER BY "occurredAt" DESC LIMIT 1
  ), ${accountId})`;

export async function findAppUserId(db: Tx, accountId: string): Promise<string> {
  const [row] = await db.$queryRaw<{ id: string }[]>`SELECT ${appUserIdOf(sql`${accountId}::text`)} AS id`;
  return row?.id ?? accountId;
}

/** Returns the App User IDs of the owners of purchases as the provider wrote them: its API is case-sensitive. */
async function findAppUserIds(db: Tx, purchaseIds: string[]): Promise<string[]> {
  if (purchaseIds.length === 0) return [];
  const rows = await db.$queryRaw<{ appUserId: string }[]>`
    SELECT DISTINCT newest."appUserId" FROM "Purchase" AS purchase
    CROSS JOIN LATERAL (
      SELECT event."appUserId" FROM "BillingEvent" AS event
      WHERE event.provider IS NOT DISTINCT FROM purchase.provider AND event."appUserIds" && purchase."appUserIds"
        AND (event."appUserId" = ANY(purchase."appUserIds") OR lower(event."appUserId") = ANY(purchase."appUserIds"))
        AND event."appUserId" NOT LIKE 'sha256:%'
      ORDER BY event."occurredAt" DESC, event.id LIMIT 1
    ) AS newest
    WHERE purchase.id = ANY(${purchaseIds}::uuid[]) AND purchase.provider = ${revenueCat.name}
    ORDER BY newest."appUserId"`;
  return rows.map(({ appUserId }) => appUserId);
}

import type { Tx } from "../context";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MOST_IDENTITIES = 100;

/** Customer names as they are kept: once each, in order, UUIDs in lower case as account ids are. */
export function normalizeIdentities(names: string[]): string[] {
  const kept = new Set(names.map((name) => (UUID.test(name) ? name.toLowerCase() : name)));
  return [...kept].slice(0, MOST_IDENTITIES);
}

/** The names that may be account ids, in order. */
export function possibleAccountIds(identities: string[]): string[] {
  return identities.filter((name) => UUID.test(name));
}

/** Gives an account the lines, and their events, that name it and that belong to nobody yet. */
export async function linkLines(db: Tx, accountId: string): Promise<void> {
  await db.$executeRaw`
    WITH linked AS (
      UPDATE "SubscriptionLine" SET "accountId" = ${accountId}::uuid
      WHERE "accountId" IS NULL AND identities @> ARRAY[${accountId}]
        AND EXISTS (SELECT 1 FROM "Account" WHERE id = ${accountId}::uuid)
      RETURNING id
    )
    UPDATE "BillingEvent" SET "accountId" = ${accountId}::uuid
    WHERE "lineId" IN (SELECT id FROM linked) AND "accountId" IS NULL AND identities @> ARRAY[${accountId}]`;
}

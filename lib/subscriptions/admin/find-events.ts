import type { Context } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { isUuid } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { PROVIDER_NAMES } from "../providers/find-provider";

/**
 * Selects the ids of the events with an id, the provider's or ours. Names the providers, so that PostgreSQL can use the
 * unique index on provider and event id.
 */
export function eventsWithId(id: string): Prisma.Sql {
  const own = isUuid(id) ? sql`UNION SELECT id FROM "BillingEvent" WHERE id = ${id}::uuid` : sql``;
  return sql`SELECT id FROM "BillingEvent" WHERE provider = ANY(${PROVIDER_NAMES}::text[]) AND "eventId" = ${id} ${own}`;
}

/** Selects the ids of the events of an account: linked to it, of its purchases, or naming it. */
export function eventsOfAccount(accountId: string): Prisma.Sql {
  return sql`
    SELECT id FROM "BillingEvent" WHERE "accountId" = ${accountId}::uuid
    UNION SELECT event.id FROM "Purchase" AS purchase JOIN "BillingEvent" AS event ON event."purchaseId" = purchase.id
      WHERE purchase."accountId" = ${accountId}::uuid
    UNION SELECT id FROM "BillingEvent" WHERE "appUserIds" @> ARRAY[${accountId}]`;
}

/** Selects the ids of the events of a purchase, by its id or original transaction, and of those that name a transaction. */
export function eventsOfPurchase(id: string): Prisma.Sql {
  const own = isUuid(id) ? sql`UNION SELECT id FROM "BillingEvent" WHERE "purchaseId" = ${id}::uuid` : sql``;
  return sql`
    SELECT id FROM "BillingEvent" WHERE "transactionId" = ${id} ${own}
    UNION SELECT event.id FROM "Purchase" AS purchase JOIN "BillingEvent" AS event ON event."purchaseId" = purchase.id
      WHERE purchase."originalTransactionId" = ${id}`;
}

/** Finds the events with an id, the provider's or ours: one for each provider at most. Returns our ids. */
export async function findEventIds({ db }: Pick<Context, "db">, id: string): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>(eventsWithId(id));
  return rows.map((row) => row.id);
}

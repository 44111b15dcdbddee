import type { Context, Tx } from "../../context";
import { newId } from "../../platform/db/ids";
import { sql, uuidArray } from "../../platform/db/sql";
import { buildAliasEvent } from "../providers/build-event";
import { type EventKey, keysOf } from "./lock";
import { storeEvent } from "./store";

/** An account that a provider's events name by the ids that an import gave it. */
type ImportedCustomer = { provider: string; accountId: string; appUserIds: string[] };

/** Finds imported accounts that stored events name by an old id alone: `which` limits the events or the aliases. */
async function findUnlinked(db: Tx, which: { accountIds: string[] } | { events: readonly EventKey[] }) {
  const source =
    "accountIds" in which
      ? sql`"AccountAlias" AS alias JOIN "BillingEvent" AS event ON event."appUserIds" @> ARRAY[alias."appUserId"]
          AND alias."accountId" = ANY(${uuidArray(which.accountIds)})`
      : sql`${keysOf(which.events)} JOIN "BillingEvent" AS event USING (provider, "eventId")
          JOIN "AccountAlias" AS alias ON alias."appUserId" = ANY(event."appUserIds")`;
  return db.$queryRaw<ImportedCustomer[]>`
    SELECT event.provider, alias."accountId"::text, array_agg(DISTINCT alias."appUserId") AS "appUserIds" FROM ${source}
    WHERE NOT EXISTS (
      SELECT FROM "BillingEvent" AS linked WHERE linked.provider IS NOT DISTINCT FROM event.provider
        AND linked."appUserIds" @> ARRAY[alias."appUserId", alias."accountId"::text])
    GROUP BY 1, 2`;
}

/**
 * Stores an event of type SUBSCRIBER_ALIAS for each imported account whose events arrived before the import: of the given
 * accounts, or named by the given events. Returns the events to apply, of given accounts also those that an import before
 * could not apply. Idempotent.
 */
export async function storeImportAliases(
  deps: Pick<Context, "db" | "dbNow" | "now">,
  which: Parameters<typeof findUnlinked>[1],
): Promise<(EventKey & { accountIds: string[] })[]> {
  const aliases = "accountIds" in which ? await findUnapplied(deps.db, which.accountIds) : [];
  for (const { provider, accountId, appUserIds } of await findUnlinked(deps.db, which)) {
    const at = deps.now();
    const customers = [accountId, ...appUserIds];
    const event = {
      ...buildAliasEvent({ customers, occurredAt: at, environment: null, store: null }),
      appUserId: null,
    };
    const key = { provider, eventId: `${IMPORT}${newId()}` };
    const isStored = await deps.db.$transaction(async (tx) => {
      if (!(await lockIfNotDeleted(tx, accountId))) return false;
      await storeEvent({ ...deps, db: tx }, { ...key, event, payload: null, receivedAt: at });
      return true;
    });
    if (isStored) aliases.push({ ...key, accountIds: [accountId] });
  }
  return aliases;
}

/** Whoever deletes the account later finds the event that the transaction stores. */
async function lockIfNotDeleted(tx: Tx, accountId: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`SELECT 1 FROM "Account" WHERE id = ${accountId}::uuid FOR KEY SHARE`;
  return rows.length > 0;
}

const IMPORT = "import:";

function findUnapplied(db: Tx, accountIds: string[]) {
  return db.$queryRaw<(EventKey & { accountIds: string[] })[]>`
    SELECT provider, "eventId", ARRAY["accountId"::text] AS "accountIds" FROM "BillingEvent"
    WHERE "accountId" = ANY(${uuidArray(accountIds)}) AND state = 'received' AND starts_with("eventId", ${IMPORT})`;
}

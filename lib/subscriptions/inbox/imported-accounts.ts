import type { Context, Tx } from "../../context";
import { newId } from "../../platform/db/ids";
import { sql, uuidArray } from "../../platform/db/sql";
import { normalizeAppUserIds } from "../app-user-ids";
import type { ProviderEvent } from "../events";
import { buildAliasEvent } from "../providers/build-event";
import { type EventKey, keysOf } from "./lock";
import { storeEvent } from "./store";

/** An account that a provider's events name by the ids that an import gave it. */
type ImportedCustomer = { provider: string; accountId: string; appUserIds: string[] };

/**
 * Names imported accounts in events: puts the account's id before each App User ID that an import gave to it. Everything
 * that follows then finds the account as if its own app had bought.
 */
export async function nameImportedAccounts<Event extends Pick<ProviderEvent, "appUserIds" | "transferredFrom">>(
  db: Tx,
  events: readonly Event[],
): Promise<Event[]> {
  const ids = [...new Set(events.flatMap(({ appUserIds }) => appUserIds))];
  const aliases = ids.length > 0 ? await db.accountAlias.findMany({ where: { appUserId: { in: ids } } }) : [];
  if (aliases.length === 0) return [...events];
  const accountIdOf = new Map(aliases.map(({ appUserId, accountId }) => [appUserId, accountId]));
  const named = (given: string[]) => normalizeAppUserIds(given.flatMap((id) => [accountIdOf.get(id) ?? id, id]));
  return events.map((event) => ({
    ...event,
    appUserIds: named(event.appUserIds),
    transferredFrom: named(event.transferredFrom),
  }));
}

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
    await storeEvent(deps, { ...key, event, payload: null, receivedAt: at });
    aliases.push({ ...key, accountIds: [accountId] });
  }
  return aliases;
}

const IMPORT = "import:";

function findUnapplied(db: Tx, accountIds: string[]) {
  return db.$queryRaw<(EventKey & { accountIds: string[] })[]>`
    SELECT provider, "eventId", ARRAY["accountId"::text] AS "accountIds" FROM "BillingEvent"
    WHERE "accountId" = ANY(${uuidArray(accountIds)}) AND state = 'received' AND starts_with("eventId", ${IMPORT})`;
}

import type { Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { sql, uuidArray } from "../../platform/db/sql";
import { isPseudonym, normalizeAppUserIds, possibleAccountIds, pseudonymOf } from "../app-user-ids";
import type { ProviderEvent } from "../events";
import type { NewEvent } from "./store";

/**
 * Names accounts in events as the inbox does: puts an imported account's id before each App User ID that the import gave to
 * it, and replaces the id of a deleted account by the pseudonym that its earlier events have, or adds that, if some have the id.
 * Everything that follows then finds what the account has bought, and who has it now.
 */
export async function nameAccounts<Event extends Pick<ProviderEvent, "appUserIds" | "transferredFrom">>(
  db: Tx,
  events: readonly Event[],
  lock = sql``,
): Promise<Event[]> {
  const ids = [...new Set(events.flatMap(({ appUserIds }) => appUserIds))];
  const names = await findNames(db, ids, lock);
  if (names.size === 0) return [...events];
  const named = (given: string[]) => normalizeAppUserIds(given.flatMap((id) => names.get(id) ?? id));
  return events.map((event) => ({
    ...event,
    appUserIds: named(event.appUserIds),
    transferredFrom: named(event.transferredFrom),
  }));
}

/**
 * Names accounts in events that the transaction stores: locks those that exist, so that whoever deletes one later finds the
 * events. One of a deleted account has no more of it than the account's earlier events do: see `anonymizeBilling`.
 */
export async function nameNewEvents(tx: Tx, newEvents: readonly NewEvent[]): Promise<NewEvent[]> {
  const given = newEvents.map(({ event }) => event);
  const named = await nameAccounts(tx, given, sql`FOR KEY SHARE`);
  return newEvents.map((newEvent, i) => anonymize({ ...newEvent, event: named[i] ?? newEvent.event }));
}

function anonymize(newEvent: NewEvent): NewEvent {
  const { event } = newEvent;
  if (!event.appUserIds.some(isPseudonym)) return newEvent;
  const facts = { ...event.facts, appTransactionId: null };
  return { ...newEvent, event: { ...event, appUserId: null, facts }, payload: null };
}

/** Returns what an event has instead of an App User ID, by the id, unless the id stays as it is. */
async function findNames(db: Tx, appUserIds: string[], lock: Prisma.Sql): Promise<Map<string, string[]>> {
  if (appUserIds.length === 0) return new Map();
  const accountIds = possibleAccountIds(appUserIds);
  const pseudonyms = accountIds.map(pseudonymOf);
  // A transfer has the pseudonyms of accounts that are not deleted, too. An account that is seen but not locked was deleted
  // while its lock was waited for, by a transaction whose events are not seen.
  const rows = await db.$queryRaw<{ known: string; accountId: string; isDeleted: boolean }[]>`
    WITH locked AS MATERIALIZED (
      SELECT id FROM "Account" WHERE id = ANY(${uuidArray(accountIds)}) ORDER BY id ${lock}
    )
    SELECT "appUserId" AS known, "accountId"::text, false AS "isDeleted" FROM "AccountAlias"
    WHERE "appUserId" = ANY(${appUserIds}::text[])
    UNION
    SELECT given.pseudonym, given.id::text, true FROM "BillingEvent" AS event
    JOIN unnest(${uuidArray(accountIds)}, ${pseudonyms}::text[]) AS given (id, pseudonym)
      ON given.pseudonym = ANY(event."appUserIds")
    WHERE event."appUserIds" && ${pseudonyms}::text[]
      AND NOT EXISTS (SELECT FROM "Account" AS account WHERE account.id = given.id)
    UNION
    SELECT given.pseudonym, account.id::text, true
    FROM unnest(${uuidArray(accountIds)}, ${pseudonyms}::text[]) AS given (id, pseudonym) JOIN "Account" AS account USING (id)
    WHERE NOT EXISTS (SELECT FROM locked WHERE locked.id = account.id)`;
  const deleted = rows.flatMap(({ accountId, isDeleted }) => (isDeleted ? accountId : []));
  const ownNames = await findStored(db, deleted);
  return new Map(
    rows.map(({ known, accountId, isDeleted }) =>
      isDeleted ? [accountId, [known, ...(ownNames.has(accountId) ? [accountId] : [])]] : [known, [accountId, known]],
    ),
  );
}

/** Those ids of deleted accounts that events have: they arrived before anything said that they are of a deleted account. */
async function findStored(db: Tx, accountIds: string[]): Promise<Set<string>> {
  if (accountIds.length === 0) return new Set();
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT unnest("appUserIds") AS id FROM "BillingEvent" WHERE "appUserIds" && ${accountIds}::text[]`;
  return new Set(rows.map(({ id }) => id));
}

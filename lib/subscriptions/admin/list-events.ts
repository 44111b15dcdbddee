import type { Context } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { isUuid } from "../../platform/db/ids";
import { empty, identifier, join, sql } from "../../platform/db/sql";
import { toAccountId, withEmails } from "../../platform/find-account";
import { countRows, readPage } from "../../platform/lists";
import { PROVIDER_NAMES } from "../providers/find-provider";
import { BillingEventState, BillingEventSummary, type BillingEventsQuery } from "./schema";

type Deps = Pick<Context, "db">;
type Filter = Omit<BillingEventsQuery, "limit" | "cursor">;
type Found = Omit<BillingEventSummary, "accountEmail">;
/** The last event of the page before. */
type Position = { id: string; receivedAt: Date };

/** The events that one request searches: a filter that few events pass does not read the whole inbox. */
const MAX_SEARCHED = 10_000;

/**
 * Lists the events in the inbox, newest first. Each filter reads the events by an index in their order, or only those of
 * one customer. @throws AppError invalid_query, not_found if no account has the email
 */
export async function listBillingEvents({ db }: Deps, { limit, cursor, ...given }: BillingEventsQuery) {
  const filter = { ...given, account: await toAccountId({ db }, given.account) };
  const { entries, nextCursor } = await readPage("billing-events", { limit, cursor }, async ({ after, take }) => {
    const position = after === null ? null : await findPosition(db, after);
    const source = sourceOf(filter, position);
    const events = await search(db, source, filter, take);
    return events.length < take ? { entries: events, searchedTo: await findEnd(db, source) } : { entries: events };
  });
  return { events: await withEmails({ db }, entries), nextCursor };
}

function findPosition(db: Deps["db"], id: string): Promise<Position | null> {
  const select = { id: true, receivedAt: true };
  return isUuid(id) ? db.billingEvent.findUnique({ where: { id }, select }) : Promise.resolve(null);
}

/** Events as an index selects them, and its order. */
type Source = { rows: Prisma.Sql; order: Prisma.Sql };

const COLUMNS = Object.keys(BillingEventSummary.shape).filter((name) => name !== "accountEmail");
const SELECTED = join(COLUMNS.map(identifier));
const FOUND = join(COLUMNS.filter((name) => name !== "accountId").map((name) => sql`event.${identifier(name)}`));
const NEWEST_FIRST = sql`event."receivedAt" DESC`;

/** Reads by the filter that selects the fewest events. The others are compared row by row. */
function sourceOf(filter: Filter, position: Position | null): Source {
  const { event, purchase, account, state, unlinked } = filter;
  const where = (condition: Prisma.Sql) =>
    sql`SELECT ${SELECTED} FROM "BillingEvent" WHERE ${join([condition, ...timeBounds(filter, position)], " AND ")}`;
  if (event) return { rows: where(sql`id = ANY(ARRAY(${eventsWithId(event)}))`), order: NEWEST_FIRST };
  if (purchase) return { rows: where(sql`id = ANY(ARRAY(${eventsOfPurchase(purchase)}))`), order: NEWEST_FIRST };
  if (account) return { rows: where(sql`id = ANY(ARRAY(${eventsOfAccount(account)}))`), order: NEWEST_FIRST };
  if (unlinked === "true" && (!state || state === "processed")) {
    // The index on account and time. PostgreSQL does not treat IS NULL as a constant that ORDER BY can omit.
    return { rows: where(sql`"accountId" IS NULL`), order: sql`event."accountId" DESC, ${NEWEST_FIRST}` };
  }
  const states = state ? [state] : BillingEventState.options;
  const branches = states.map((one) => {
    const rows = where(sql`state = ${one}::"BillingEventState"`);
    return sql`(${rows} ORDER BY "receivedAt" DESC FETCH FIRST (${MAX_SEARCHED}::integer) ROWS WITH TIES)`;
  });
  return { rows: join(branches, " UNION ALL "), order: NEWEST_FIRST };
}

function timeBounds({ receivedFrom, receivedBefore }: Filter, position: Position | null): Prisma.Sql[] {
  return [
    ...(receivedFrom ? [sql`"receivedAt" >= ${receivedFrom}::timestamptz`] : []),
    ...(receivedBefore ? [sql`"receivedAt" < ${receivedBefore}::timestamptz`] : []),
    ...(position ? [sql`("receivedAt", id) < (${position.receivedAt}::timestamptz, ${position.id}::uuid)`] : []),
  ];
}

/** What the rows of a source are compared with. */
function conditionsOf({ state, type, account, purchase, unlinked }: Filter): Prisma.Sql {
  const conditions = [
    ...(state ? [sql`event.state = ${state}::"BillingEventState"`] : []),
    ...(type ? [sql`event.type = ${type}`] : []),
    ...(purchase ? [sql`event.id = ANY(ARRAY(${eventsOfPurchase(purchase)}))`] : []),
    ...(account ? [sql`event.id = ANY(ARRAY(${eventsOfAccount(account)}))`] : []),
    ...(unlinked === "true" ? [sql`COALESCE(event."accountId", purchase."accountId") IS NULL`] : []),
    ...(unlinked === "true" && !state ? [sql`event.state <> 'ignored'`] : []),
  ];
  return conditions.length > 0 ? sql`WHERE ${join(conditions, " AND ")}` : empty;
}

/** The rows that are compared with the filter, those at the same time as the limit included. */
function searched({ rows, order }: Source): Prisma.Sql {
  return sql`SELECT * FROM (${rows}) AS event ORDER BY ${order} FETCH FIRST (${MAX_SEARCHED}::integer) ROWS WITH TIES`;
}

function search(db: Deps["db"], source: Source, filter: Filter, take: number): Promise<Found[]> {
  return db.$queryRaw`
    SELECT ${FOUND}, COALESCE(event."accountId", purchase."accountId") AS "accountId"
    FROM (${searched(source)}) AS event
    LEFT JOIN "Purchase" AS purchase ON purchase.id = event."purchaseId"
    ${conditionsOf(filter)}
    ORDER BY ${source.order}, event.id DESC LIMIT ${take}::integer`;
}

/** Returns the last event that `search` reads; null if it reads all. */
async function findEnd(db: Deps["db"], source: Source): Promise<string | null> {
  const [last] = await db.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM (
      SELECT event.id, row_number() OVER (ORDER BY ${source.order}, event.id DESC) AS number FROM (${searched(source)}) AS event
    ) AS searched
    WHERE number >= ${MAX_SEARCHED}::integer ORDER BY number DESC LIMIT 1`;
  return last?.id ?? null;
}

/** Counts the events that need an operator: `MAX_COUNTED` of each state at most. */
export async function countPendingEvents({ db }: Deps): Promise<{ failed: number; received: number }> {
  const count = (state: BillingEventState) =>
    countRows(db, sql`SELECT 1 FROM "BillingEvent" WHERE state = ${state}::"BillingEventState"`);
  return { failed: await count("failed"), received: await count("received") };
}

/**
 * Selects the ids of the events with an id, the provider's or ours. Names the providers, so that PostgreSQL can use the
 * unique index on provider and event id.
 */
export function eventsWithId(id: string): Prisma.Sql {
  const own = isUuid(id) ? sql`UNION SELECT id FROM "BillingEvent" WHERE id = ${id}::uuid` : sql``;
  return sql`SELECT id FROM "BillingEvent" WHERE provider = ANY(${PROVIDER_NAMES}::text[]) AND "eventId" = ${id} ${own}`;
}

/** Selects the ids of the events of an account: linked to it, of its purchases, or naming it. */
function eventsOfAccount(accountId: string): Prisma.Sql {
  return sql`
    SELECT id FROM "BillingEvent" WHERE "accountId" = ${accountId}::uuid
    UNION SELECT event.id FROM "Purchase" AS purchase JOIN "BillingEvent" AS event ON event."purchaseId" = purchase.id
      WHERE purchase."accountId" = ${accountId}::uuid
    UNION SELECT id FROM "BillingEvent" WHERE "appUserIds" @> ARRAY[${accountId}]`;
}

/** Selects the ids of the events of a purchase, by its id or original transaction, and of those that name a transaction. */
function eventsOfPurchase(id: string): Prisma.Sql {
  const own = isUuid(id) ? sql`UNION SELECT id FROM "BillingEvent" WHERE "purchaseId" = ${id}::uuid` : sql``;
  return sql`
    SELECT id FROM "BillingEvent" WHERE "transactionId" = ${id} ${own}
    UNION SELECT event.id FROM "Purchase" AS purchase JOIN "BillingEvent" AS event ON event."purchaseId" = purchase.id
      WHERE purchase."originalTransactionId" = ${id}`;
}

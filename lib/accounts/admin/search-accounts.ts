import { createHash } from "node:crypto";
import type { Context, Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { firstIdAt, isUuid } from "../../platform/db/ids";
import { beginsWith, empty, sql, uuidArray } from "../../platform/db/sql";
import { readPage } from "../../platform/lists";
import { isStorableText } from "../../platform/storable";
import { normalizeAppUserIds } from "../../subscriptions/app-user-ids";
import type { AccountSummary, AccountsQuery } from "./schema";

type Filter = Pick<AccountsQuery, "externalId" | "role" | "state" | "createdFrom" | "seenFrom"> & { now: Date };
/** An entry of a page. Its `id` is its position in the list. */
type Entry = { id: string; account: AccountSummary };
/** The position of an account: the stage of the search that finds it, its id, and the text that the stage sorts by. */
type Position = { stage: number; id: string; key: string };

/** A list is sorted by `account."id"`: `"id"` alone would be the text below, which no index has in order. */
const COLUMNS = sql`"id"::text, "email", "emailVerifiedAt", "name", "role"::text, "disabledAt",
  "consentWithdrawnAt", "emailProblem", "createdAt"`;
/** Follows every id. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** The most accounts that one request with `seenFrom` reads: sessions have no index by the time they were last seen. */
const MAX_SEARCHED = 10_000;
/** The most accounts that an id of the billing provider finds. */
const MAX_NAMED = 100;
/**
 * The texts whose beginning a search compares, in the order of the results: the email, the name, what follows the name's
 * first word, and its last word. Each has an index of the migration `account_search`: change both.
 */
const TEXTS = [
  { text: sql`"email"`, condition: sql`true` },
  { text: sql`lower("name")`, condition: sql`true` },
  { text: sql`lower(substr("name", strpos("name", ' ') + 1))`, condition: sql`strpos("name", ' ') > 0` },
  { text: sql`lower(substring("name" FROM '[^ ]+$'))`, condition: sql`strpos("name", ' ') > 0` },
] as const;

/**
 * A page of the accounts: `AccountsQuery` says which. Reads no more rows than the page has, whatever their number.
 * @throws AppError invalid_query
 */
export async function searchAccounts({ db, now }: Pick<Context, "db" | "now">, query: AccountsQuery) {
  const { externalId, role, state, createdFrom, seenFrom } = query;
  const filter = { externalId, role, state, createdFrom, seenFrom, now: now() };
  const text = query.query?.trim() ?? "";
  const list = `accounts:${createHash("sha256")
    .update(JSON.stringify([text, externalId, role, state, createdFrom, seenFrom]))
    .digest("hex")
    .slice(0, 8)}`;
  const { entries, nextCursor } = await readPage(list, query, ({ after, take }) =>
    text === "" ? readNewest(db, filter, after, take) : readMatches(db, text, filter, toPosition(after), take),
  );
  return { accounts: entries.map(({ account }) => account), nextCursor };
}

async function readNewest(db: Tx, filter: Filter, after: string | null, take: number) {
  const last = after !== null && isUuid(after) ? after : LAST_ID;
  const isBefore = sql`"id" < ${last}::uuid`;
  const searched = sql`SELECT * FROM "Account" WHERE ${isBefore} ORDER BY "id" DESC`;
  const isSearch = filter.seenFrom !== undefined;
  const accounts = await db.$queryRaw<AccountSummary[]>`
    SELECT ${COLUMNS} FROM ${isSearch ? sql`(${searched} LIMIT ${MAX_SEARCHED}::integer)` : sql`"Account"`} AS account
    WHERE ${isBefore} ${conditionOf(filter)} ORDER BY account."id" DESC LIMIT ${take}::integer`;
  const entries: Entry[] = accounts.map((account) => ({ id: account.id, account }));
  if (!isSearch || entries.length === take) return { entries };
  const [end] = await db.$queryRaw<{ id: string }[]>`
    SELECT "id"::text FROM (${searched} OFFSET ${MAX_SEARCHED - 1}::integer LIMIT 1) AS searched`;
  return { entries, searchedTo: end?.id ?? null };
}

/** Reads the stages of a search one after the other, until the page is full. */
async function readMatches(db: Tx, text: string, filter: Filter, from: Position, take: number): Promise<Entry[]> {
  const ids = await findNamedIds(db, text);
  const entries: Entry[] = [];
  for (let stage = from.stage; stage <= TEXTS.length && entries.length < take; stage++) {
    const position = stage === from.stage ? from : { stage, id: "", key: "" };
    const matches = await readStage(db, { text, ids, filter, position, take: take - entries.length });
    entries.push(...matches.map(({ key, ...account }) => ({ id: `${stage} ${account.id} ${key}`, account })));
  }
  return entries;
}

type Stage = { text: string; ids: readonly string[]; filter: Filter; position: Position; take: number };

/** Stage 0 finds accounts by their ids, the others by the beginning of a text. An account belongs to its first stage. */
function readStage(db: Tx, { text, ids, filter, position, take }: Stage) {
  const searched = TEXTS[position.stage - 1];
  const found = searched ? sql`${matches(searched, text)} AND "id" <> ALL(${uuidArray(ids)})` : oneOfCondition(ids);
  const key = searched ? sql`${searched.text} COLLATE "C"` : sql`''`;
  const earlier = TEXTS.slice(0, Math.max(0, position.stage - 1)).map(
    (one) => sql` AND (${matches(one, text)}) IS NOT TRUE`,
  );
  const isLater = position.id === "" ? empty : sql`AND (${key}, "id") > (${position.key}::text, ${position.id}::uuid)`;
  return db.$queryRaw<(AccountSummary & { key: string })[]>`
    SELECT ${COLUMNS}, ${key} AS "key" FROM "Account" AS account
    WHERE ${found} ${earlier.reduce((all, one) => sql`${all}${one}`, empty)} ${isLater} ${conditionOf(filter)}
    ORDER BY ${searched ? sql`${key},` : empty} account."id" LIMIT ${take}::integer`;
}

function oneOfCondition(ids: readonly string[]): Prisma.Sql {
  return sql`"id" = ANY(${uuidArray(ids)})`;
}

function matches({ text, condition }: (typeof TEXTS)[number], prefix: string): Prisma.Sql {
  return sql`${condition} AND ${beginsWith(text, sql`lower(${prefix}::text)`)}`;
}

function conditionOf({ externalId, role, state, createdFrom, seenFrom, now }: Filter): Prisma.Sql {
  const states = {
    active: sql`AND "disabledAt" IS NULL`,
    disabled: sql`AND "disabledAt" IS NOT NULL`,
    unverified: sql`AND "emailVerifiedAt" IS NULL`,
    consent_withdrawn: sql`AND "consentWithdrawnAt" < 'infinity'`,
  };
  // The partial index of operators excludes users by name.
  const isOperator = role === undefined || role === "user" ? empty : sql`AND "role" <> 'user'`;
  const hasRole = role === undefined ? empty : sql`AND "role" = ${role}::"AccountRole"`;
  // An account's id contains the time of its creation.
  const isCreated = createdFrom
    ? sql`AND account."id" >= ${firstIdAt(createdFrom)}::uuid AND "createdAt" >= ${createdFrom}`
    : empty;
  const isSeen = seenFrom
    ? sql`AND EXISTS (SELECT FROM "Session" AS session WHERE session."accountId" = account."id"
        AND session."expiresAt" > ${now} AND session."lastSeenAt" >= ${seenFrom})`
    : empty;
  const hasExternalId =
    externalId === undefined
      ? empty
      : sql`AND account."id" = (SELECT "accountId" FROM "AccountAlias" WHERE "appUserId" = ${normalizeAppUserIds([externalId])[0]})`;
  return sql`${hasExternalId} ${hasRole} ${isOperator} ${state === undefined ? empty : states[state]} ${isCreated} ${isSeen}`;
}

/** The accounts with an id: their own, one that an import gave them, or an App User ID in their purchases and events. */
export async function findNamedIds(db: Tx, text: string): Promise<string[]> {
  const [name = text] = normalizeAppUserIds([text]);
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT "accountId"::text AS "id" FROM (
      (SELECT "accountId" FROM "AccountAlias" WHERE "appUserId" = ${name})
      UNION ALL
      (SELECT "accountId" FROM "Purchase" WHERE "appUserIds" @> ARRAY[${name}] LIMIT ${MAX_NAMED}::integer)
      UNION ALL
      (SELECT "accountId" FROM "BillingEvent" WHERE "appUserIds" @> ARRAY[${name}] LIMIT ${MAX_NAMED}::integer)
    ) AS named WHERE "accountId" IS NOT NULL`;
  return [...new Set([...(isUuid(name) ? [name] : []), ...rows.map(({ id }) => id)])];
}

function toPosition(cursor: string | null): Position {
  const [, stage, id = "", key = ""] = /^(\d) ([0-9a-f-]{36}) (.*)$/s.exec(cursor ?? "") ?? [];
  return isUuid(id) && isStorableText(key) ? { stage: Number(stage), id, key } : { stage: 0, id: "", key: "" };
}

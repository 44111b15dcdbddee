import { MAX_QUERY_LENGTH } from "../accounts/admin/schema";
import { findNamedIds, searchAccounts } from "../accounts/admin/search-accounts";
import { displayedPrefix, hasKeyPrefix } from "../auth/api-keys/key-text";
import type { Context } from "../context";
import { isUuid } from "../platform/db/ids";
import { beginsWith, empty, sql } from "../platform/db/sql";
import { versionPath } from "../releases/publishing/release-action";
import { formatVersion } from "../releases/schema";
import { eventsWithId } from "../subscriptions/admin/list-events";
import { lookUpOrder } from "../subscriptions/admin/look-up-order";
import { SearchKind, type SearchResult, type SearchResults } from "./schema";

type Deps = Pick<Context, "billing" | "db" | "now"> & { catalog: Pick<Context["catalog"], "current"> };
/** What is searched for: the text, it as a UUID, and what it may be called as a transaction. */
type Wanted = { text: string; uuid: string | null; transactions: string[] };
type Found = Omit<SearchResult, "kind">;

const MAX_OF_A_KIND = 10;
/** Shorter beginnings of tokens are also hexadecimal words and numbers. */
const TOKEN = /^[0-9a-f]{8,}$/;

/**
 * Finds what a text names: accounts, purchases, events, releases, devices, messages, and for admins API keys. Each by an
 * index, and at most `MAX_OF_A_KIND` of a kind. Asks the provider about an order that nothing here names.
 */
export async function search(deps: Deps, role: "support" | "admin", query: string): Promise<SearchResults> {
  const wanted = toWanted(query);
  if (wanted.text === "") return { results: [], order: null };
  const kinds = SearchKind.options.filter((kind) => kind !== "api_key" || role === "admin");
  const found = (await Promise.all(kinds.map((kind) => findKind(deps, kind, wanted)))).flat();
  const order = found.length === 0 ? await lookUpOrder(deps, wanted.text) : null;
  const transactions = order?.transactions ?? [];
  return {
    results: transactions.length > 0 ? await findKind(deps, "purchase", { ...wanted, transactions }) : found,
    order,
  };
}

/** Marks that change the direction of a text, or have no width (Unicode, 23.2). Mails and chats add them to what is copied. */
const INVISIBLE = /[\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g;
const OPENING = "\"'“”„‘’«»‹›`(<[{#";
const CLOSING = "\"'“”„‘’«»‹›`)>]},;";

/** Takes an id as people copy it: in quotes, as "Order ID: …" or, of an email, as "Ann <ann@example.com>". */
function toWanted(query: string): Wanted {
  const line = query
    .replace(INVISIBLE, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const [, labeled] = /^[\p{L} .]{1,40}[:#] +(\S+)$/u.exec(line) ?? [];
  const [, email] = /<([^<>\s@]+@[^<>\s@]+)>$/.exec(line) ?? [];
  const text = withoutQuotes(email ?? labeled ?? line).trim();
  return { text, uuid: isUuid(text) ? text.toLowerCase() : null, transactions: transactionsOf(text) };
}

function withoutQuotes(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && OPENING.includes(text.charAt(start))) start += 1;
  while (end > start && CLOSING.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** Google Play's order id. That of a renewal is the first one with a number after two dots ("Order IDs"). */
function transactionsOf(text: string): string[] {
  const [order, first] = /^(GPA\.[\d-]+)(?:\.\.\d+)?$/.exec(text.toUpperCase()) ?? [];
  return order && first ? [...new Set([order, first])] : [text];
}

async function findAccounts(deps: Deps, { text }: Wanted): Promise<Found[]> {
  if (text.length > MAX_QUERY_LENGTH) return [];
  const email = text.toLowerCase();
  const [{ accounts }, named, earlier] = await Promise.all([
    searchAccounts(deps, { query: text, limit: MAX_OF_A_KIND }),
    findNamedIds(deps.db, text),
    findByEarlierEmail(deps, email),
  ]);
  const others = accounts.filter(({ id }) => !earlier.some((one) => one.id === id));
  return [...earlier, ...others.map((one) => ({ ...one, detail: one.name ?? "" }))]
    .slice(0, MAX_OF_A_KIND)
    .map(({ id, email: title, detail }) => {
      return { id, title, detail, path: accountPath(id), isExact: title === email || named.includes(id) };
    });
}

/** Accounts that had an email until its owner changed it, as long as the change can be undone. */
async function findByEarlierEmail({ db, now }: Deps, email: string) {
  const changes = await db.emailChange.findMany({
    where: { oldEmail: email, confirmedAt: { not: null }, expiresAt: { gt: now() } },
    select: { account: { select: { id: true, email: true } } },
    take: MAX_OF_A_KIND,
  });
  return changes.map(({ account }) => ({ ...account, detail: `formerly ${email}` }));
}

const accountPath = (id: string) => `/console/accounts/${id}`;

type PurchaseRow = { id: string; productId: string | null; store: string; transaction: string; email: string | null };

/** Purchases by their ids, or by the transactions of their events: the first purchase, renewals and upgrades. */
async function findPurchases({ db }: Deps, { uuid, transactions }: Wanted): Promise<Found[]> {
  const rows = await db.$queryRaw<PurchaseRow[]>`
    SELECT purchase."id"::text, "productId", "store", "originalTransactionId" AS "transaction", "email"
    FROM "Purchase" AS purchase LEFT JOIN "Account" AS account ON account."id" = purchase."accountId"
    WHERE purchase."id" = ANY(ARRAY(
      SELECT "id" FROM "Purchase" WHERE "originalTransactionId" = ANY(${transactions}::text[])
      UNION SELECT "purchaseId" FROM "BillingEvent" WHERE "transactionId" = ANY(${transactions}::text[])
      ${uuid === null ? empty : sql`UNION SELECT ${uuid}::uuid`}))
    ORDER BY purchase."id" DESC LIMIT ${MAX_OF_A_KIND}::integer`;
  return rows.map(({ id, productId, store, transaction, email }) => ({
    id,
    title: productId ?? "Unknown product",
    detail: [store.toLowerCase(), transaction, email ?? "no account"].join(", "),
    path: `/console/billing/purchases/${id}`,
    isExact: true,
  }));
}

type EventRow = { id: string; type: string; provider: string; eventId: string; state: string };

/** Billing events by their ids; by their transactions, if no purchase was made of them. */
async function findBillingEvents({ db }: Deps, { text, transactions }: Wanted): Promise<Found[]> {
  const rows = await db.$queryRaw<EventRow[]>`
    SELECT "id"::text, "type", "provider", "eventId", "state"::text FROM "BillingEvent"
    WHERE "id" = ANY(ARRAY(${eventsWithId(text)}
      UNION SELECT "id" FROM "BillingEvent" WHERE "transactionId" = ANY(${transactions}::text[]) AND "purchaseId" IS NULL))
    ORDER BY "receivedAt" DESC LIMIT ${MAX_OF_A_KIND}::integer`;
  return rows.map(({ id, type, provider, eventId, state }) => ({
    id,
    title: type,
    detail: [provider, eventId, state].join(", "),
    path: `/console/billing/events/${id}`,
    isExact: true,
  }));
}

/** Versions by their number, with or without "v", the number of one of their builds, or the id of one of their releases. */
function findReleases({ catalog }: Deps, { text }: Wanted): Found[] {
  const version = text.replace(/^v(?=\d)/i, "");
  const found = new Map<string, Found>();
  for (const release of catalog.current()?.releases ?? []) {
    const { product, channel, id, buildVersion } = release;
    const title = formatVersion(release.version);
    if (title !== version && buildVersion !== version && id !== text) continue;
    const path = versionPath({ product, channel, version: title });
    found.set(path, { id: path, title, detail: `${product}, ${channel}`, path, isExact: true });
  }
  return [...found.values()].slice(0, MAX_OF_A_KIND);
}

type DeviceRow = {
  id: string;
  accountId: string;
  name: string | null;
  status: string;
  email: string;
  isExact: boolean;
};

/** Devices by their id, the app's id of its installation, or the beginning of their token. */
async function findDevices({ db }: Deps, { text, uuid }: Wanted): Promise<Found[]> {
  const digits = text.replaceAll(" ", "").toLowerCase();
  const token = TOKEN.test(digits) ? digits : text;
  if (uuid === null && !TOKEN.test(token) && !token.startsWith("https://")) return [];
  const condition = uuid
    ? sql`device."id" = ANY(ARRAY(SELECT ${uuid}::uuid UNION SELECT "id" FROM "PushDevice" WHERE "installationId" = ${uuid}::uuid))`
    : beginsWith(sql`device."token"`, sql`${token}::text`);
  const rows = await db.$queryRaw<DeviceRow[]>`
    SELECT device."id"::text, "accountId"::text, COALESCE(device."name", "model") AS "name", "status"::text, "email",
      ${uuid !== null} OR "token" = ${token} AS "isExact"
    FROM "PushDevice" AS device JOIN "Account" AS account ON account."id" = device."accountId"
    WHERE ${condition} ORDER BY device."token" COLLATE "C" LIMIT ${MAX_OF_A_KIND}::integer`;
  return rows.map(({ id, accountId, name, status, email, isExact }) => {
    return {
      id,
      title: name ?? "Unnamed device",
      detail: `${email}, ${status}`,
      path: accountPath(accountId),
      isExact,
    };
  });
}

async function findMessages({ db }: Deps, { uuid }: Wanted): Promise<Found[]> {
  const message = uuid && (await db.pushMessage.findUnique({ where: { id: uuid }, select: { id: true, kind: true } }));
  if (!message) return [];
  const { id, kind } = message;
  return [{ id, title: kind, detail: "", path: `/console/push/messages/${id}`, isExact: true }];
}

/** The events that were sent to webhook endpoints, by the id that their receivers got. */
async function findWebhookEvents({ db }: Deps, { uuid }: Wanted): Promise<Found[]> {
  if (uuid === null) return [];
  const deliveries = await db.webhookDelivery.findMany({
    where: { eventId: uuid },
    select: { endpointId: true, state: true, event: { select: { type: true } }, endpoint: { select: { url: true } } },
    take: MAX_OF_A_KIND,
  });
  return deliveries.map(({ endpointId, state, event, endpoint }) => ({
    id: endpointId,
    title: event.type,
    detail: `${endpoint.url}, ${state}`,
    path: `/console/settings/webhooks/${endpointId}/${uuid}`,
    isExact: true,
  }));
}

/** API keys by their id or their beginning. Of a whole key, only what lists of keys show is used. */
async function findKeys({ db, now }: Deps, { text, uuid }: Wanted): Promise<Found[]> {
  if (uuid === null && !hasKeyPrefix(text)) return [];
  const prefix = displayedPrefix(text);
  const condition = uuid ? sql`"id" = ${uuid}::uuid` : beginsWith(sql`"prefix"`, sql`${prefix}::text`);
  const rows = await db.$queryRaw<{ id: string; name: string; prefix: string; isActive: boolean }[]>`
    SELECT "id"::text, "name", "prefix", "revokedAt" IS NULL AND COALESCE("expiresAt" > ${now()}, true) AS "isActive"
    FROM "ApiKey" WHERE ${condition} ORDER BY "prefix" COLLATE "C" LIMIT ${MAX_OF_A_KIND}::integer`;
  return rows.map((row) => ({
    id: row.id,
    title: row.name,
    detail: `${row.prefix}…, ${row.isActive ? "active" : "does not work"}`,
    path: `/console/settings/keys?prefix=${row.prefix}`,
    isExact: uuid !== null || row.prefix === prefix,
  }));
}

async function findKind(deps: Deps, kind: SearchResult["kind"], wanted: Wanted): Promise<SearchResult[]> {
  return (await FINDERS[kind](deps, wanted)).map((one) => ({ kind, ...one }));
}

const FINDERS: Record<SearchResult["kind"], (deps: Deps, wanted: Wanted) => Found[] | Promise<Found[]>> = {
  account: findAccounts,
  purchase: findPurchases,
  billing_event: findBillingEvents,
  release: findReleases,
  device: findDevices,
  message: findMessages,
  webhook_event: findWebhookEvents,
  api_key: findKeys,
};

import { z } from "zod";
import { isAppError } from "../../errors";
import { normalizeAppUserIds } from "../app-user-ids";
import { revenueCat } from "../providers/revenuecat";
import { readCustomer } from "../providers/revenuecat-customer";
import { placeSnapshot, type SnapshotEvent } from "../reconcile/place-snapshot";
import { findAppUserId } from "../references";
import { isHashedEmail, toStoredId } from "../sanitize";
import { APPLE, appStorePurchase, appStoreSource, readStatuses } from "../sources/app-store";
import { PADDLE, PaddleEntity, PaddlePagination, paddlePurchase } from "../sources/paddle";
import { REVENUECAT, revenueCatSource } from "../sources/revenuecat";
import { notConfigured, parseResponse, type SourceDeps } from "../sources/source";
import { STRIPE, StripeSubscription, stripePurchase } from "../sources/stripe";
import { readRecord } from "./read-record";
import { CustomerRecord, type PurchaseImportQuery, PurchaseRecord, TransactionRecord } from "./schema";
import {
  askEach,
  type Line,
  type PurchaseOfLine,
  paced,
  parseLines,
  positionOf,
  type Query,
  type Question,
  readPage,
  type SourceBatch,
  waiting,
  withFailures,
} from "./source";

const MAX_ACCOUNTS = 50;
/** Paddle's customers that one request asks about: their ids are in its URL. */
const MAX_CUSTOMERS = 100;

export const SOURCE_READERS: Record<
  PurchaseImportQuery["from"],
  (deps: SourceDeps, query: Query, lines: readonly Line[]) => Promise<SourceBatch>
> = { stripe: readStripe, paddle: readPaddle, revenuecat: readRevenueCat, "app-store": readAppStore, csv: readTable };

const StripePage = z.object({ data: z.array(StripeSubscription), has_more: z.boolean() });

async function readStripe(deps: SourceDeps, query: Query): Promise<SourceBatch> {
  const { stripe: api } = deps.billing;
  if (!api) throw notConfigured(STRIPE.setting);
  const after = positionOf(query);
  const requestedAt = deps.now();
  const read = await readPage(STRIPE, after, async () => {
    const { data, has_more } = parseResponse(STRIPE, StripePage, await api.listSubscriptions(after));
    return { entries: data, hasMore: has_more };
  });
  if ("retry" in read) return waiting(read.retry, query);
  const found = read.page.entries.map((one) => ({ line: null, ...stripePurchase(deps, one, requestedAt, "IMPORT") }));
  return { found, failures: [], retry: null, next: read.next };
}

const PaddlePage = z.object({ data: z.array(PaddleEntity), meta: PaddlePagination });
const PaddleCustomers = z.object({ data: z.array(z.object({ id: z.string(), email: z.string().nullish() })) });

async function readPaddle(deps: SourceDeps, query: Query): Promise<SourceBatch> {
  const { paddle: api } = deps.billing;
  if (!api) throw notConfigured(PADDLE.setting);
  const after = positionOf(query);
  const requestedAt = deps.now();
  const emails = new Map<string, string | null | undefined>();
  const read = await readPage(PADDLE, after, async () => {
    const { data, meta } = parseResponse(PADDLE, PaddlePage, await api.listSubscriptions(after));
    const ids = query.match === "email" ? [...new Set(data.flatMap(({ customer_id }) => customer_id ?? []))] : [];
    for (let start = 0; start < ids.length; start += MAX_CUSTOMERS) {
      const body = await api.listCustomers(ids.slice(start, start + MAX_CUSTOMERS));
      for (const { id, email } of parseResponse(PADDLE, PaddleCustomers, body).data) emails.set(id, email);
    }
    return { entries: data, hasMore: meta.pagination.has_more };
  });
  if ("retry" in read) return waiting(read.retry, query);
  const found = read.page.entries.map((subscription) => {
    const email = emails.get(subscription.customer_id ?? "") ?? null;
    return { line: null, email, ...paddlePurchase(deps, subscription, requestedAt, "IMPORT") };
  });
  return { found, failures: [], retry: null, next: read.next };
}

/** RevenueCat cannot list its customers. Asks about those of the lines, or about the accounts, by all their ids. */
async function readRevenueCat(deps: SourceDeps, query: Query, lines: readonly Line[]): Promise<SourceBatch> {
  const { billing, config, db, now } = deps;
  const { revenuecat: api } = billing;
  if (!api) throw notConfigured(REVENUECAT.setting);
  const getCustomer = paced(revenueCatSource.intervalMs, api.getCustomer);
  type Customer = Question & { accountId: string | null; appUserIds: string[] };
  const seen: { at: Date; line: number | null; snapshot: SnapshotEvent }[] = [];
  const askAbout = async ({ line, accountId, appUserIds }: Customer): Promise<PurchaseOfLine[]> => {
    const own = new Map<string, (typeof seen)[number]>();
    for (const appUserId of appUserIds) {
      const at = now();
      for (const snapshot of readCustomer(await getCustomer(appUserId), appUserId, at)) {
        const { environment, store, transactionId } = snapshot;
        const key = JSON.stringify([environment, store, transactionId]);
        const customers = normalizeAppUserIds([...(accountId ? [accountId] : []), toStoredId(appUserId)]);
        const names = { appUserId: toStoredId(appUserId), appUserIds: customers };
        if (!own.has(key)) own.set(key, { at, line, snapshot: { ...snapshot, ...names, type: "IMPORT" } });
      }
    }
    seen.push(...own.values());
    return [];
  };
  const customers = lines.length > 0 ? parseLines(CustomerRecord, lines, query) : await nextAccounts(deps, query);
  const questions = customers.entries.map(({ record, ...rest }) => ({ ...rest, ...toCustomer(record) }));
  const position = { start: query.cursor ?? null, isEnd: customers.isEnd };
  const batch = await askEach(REVENUECAT, questions, position, askAbout);
  for (const { at, line, snapshot } of seen) {
    for (const placed of await placeSnapshot({ db, config }, revenueCat.name, snapshot, at)) {
      const toEvent = (): ReturnType<PurchaseOfLine["toEvent"]> => ({ event: placed.snapshot, toPayload: null });
      batch.found.push({ line, provider: revenueCat.name, email: null, toEvent });
    }
  }
  return withFailures(batch, customers.failures);
}

type CustomerOfSource = { appUserId: string } | { accountId: string; appUserIds: string[] };

function toCustomer(record: CustomerOfSource) {
  if ("appUserId" in record) return { id: record.appUserId, accountId: null, appUserIds: [record.appUserId] };
  return { id: record.accountId, ...record };
}

/** The accounts after a position, with the ids that RevenueCat may know: first those that an import gave them. */
async function nextAccounts({ db }: SourceDeps, { cursor }: Query) {
  const accounts = await db.account.findMany({
    where: z.uuid().safeParse(cursor?.after).success ? { id: { gt: String(cursor?.after) } } : {},
    select: { id: true, aliases: { select: { appUserId: true }, orderBy: { appUserId: "asc" } } },
    orderBy: { id: "asc" },
    take: MAX_ACCOUNTS,
  });
  const entries = [];
  for (const { id, aliases } of accounts) {
    const old = aliases.map(({ appUserId }) => appUserId).filter((appUserId) => !isHashedEmail(appUserId));
    const appUserIds = [...old, await findAppUserId(db, id)];
    entries.push({ line: null, after: id, record: { accountId: id, appUserIds } });
  }
  return { entries, failures: [], isEnd: accounts.length < MAX_ACCOUNTS };
}

/**
 * Asks about each transaction. The response has all subscriptions of an Apple Account, which several customers may share: each is
 * of the customer whose line names it.
 */
async function readAppStore(deps: SourceDeps, query: Query, lines: readonly Line[]): Promise<SourceBatch> {
  const { appStore: api } = deps.billing;
  if (!api) throw notConfigured(APPLE.setting);
  const getStatuses = paced(appStoreSource.intervalMs, api.getStatuses);
  const seen = new Set<string>();
  const { entries, failures } = parseLines(TransactionRecord, lines, query);
  const named = new Set(entries.map(({ record }) => record.transactionId));
  const questions = entries.map(({ record, ...rest }) => ({ ...rest, ...record, id: record.transactionId }));
  const position = { start: query.cursor ?? null, isEnd: true };
  const batch = await askEach(APPLE, questions, position, async ({ line, transactionId, customer }) => {
    const requestedAt = deps.now();
    const response = await getStatuses(transactionId);
    if (response === null) throw new Error("no app has this transaction");
    const statuses = await readStatuses(deps, response);
    const found: PurchaseOfLine[] = [];
    for (const signed of statuses) {
      const { originalTransactionId: id = "", transactionId: last = "" } = signed.transaction;
      const isOfLine = statuses.length === 1 || [id, last].includes(transactionId);
      if (!isOfLine && (named.has(id) || named.has(last))) continue; // another line's
      if (seen.size === seen.add(id).size) continue;
      const owner = isOfLine ? customer : undefined;
      found.push({ line, ...appStorePurchase(deps, signed, requestedAt, "IMPORT", owner) });
    }
    return found;
  });
  return withFailures(batch, failures);
}

async function readTable(deps: SourceDeps, query: Query, lines: readonly Line[]): Promise<SourceBatch> {
  const { entries, failures } = parseLines(PurchaseRecord, lines, query);
  const found: PurchaseOfLine[] = [];
  for (const { line, record } of entries) {
    try {
      found.push({ line, ...readRecord(deps, record) });
    } catch (error) {
      if (!isAppError(error)) throw error;
      failures.push({ line, id: record.transactionId, failure: error.extras.detail ?? error.message });
    }
  }
  return { found, failures, retry: null, next: null };
}

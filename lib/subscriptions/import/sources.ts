import { z } from "zod";
import { isAppError } from "../../errors";
import { normalizeAppUserIds } from "../app-user-ids";
import { appStore, verifyStatus } from "../providers/app-store";
import { paddle } from "../providers/paddle";
import type { Provider } from "../providers/provider";
import { revenueCat } from "../providers/revenuecat";
import { readCustomer, type SnapshotEvent } from "../providers/revenuecat-customer";
import { stripe } from "../providers/stripe";
import { placeSnapshot } from "../reconcile-customer";
import { isHashedEmail, sanitizeJson, toStoredId } from "../sanitize";
import { findAppUserId } from "../schedule-reconcile";
import { readRecord } from "./read-record";
import { CustomerRecord, type PurchaseImportQuery, PurchaseRecord, TransactionRecord } from "./schema";
import {
  type Api,
  askEach,
  type FoundPurchase,
  type Line,
  notConfigured,
  paced,
  parseLines,
  parseResponse,
  positionOf,
  type Query,
  type Question,
  readPage,
  type SourceBatch,
  type SourceDeps,
  waiting,
  withFailures,
} from "./source";

const MAX_ACCOUNTS = 50;
/** The time from one request to the next. RevenueCat allows 480 a minute, Apple 50 a second. */
const INTERVAL_MS = { revenuecat: 125, appStore: 20 };
/** Paddle's customers that one request asks about: their ids are in its URL. */
const MAX_CUSTOMERS = 100;

export const SOURCE_READERS: Record<
  PurchaseImportQuery["from"],
  (deps: SourceDeps, query: Query, lines: readonly Line[]) => Promise<SourceBatch>
> = { stripe: readStripe, paddle: readPaddle, revenuecat: readRevenueCat, "app-store": readAppStore, csv: readTable };

const STRIPE: Api = { name: "Stripe", setting: "BILLING_STRIPE_API_KEY" };
const PADDLE: Api = { name: "Paddle", setting: "BILLING_PADDLE_API_KEY" };
const REVENUECAT: Api = { name: "RevenueCat", setting: "BILLING_API_KEY" };
const APPLE: Api = { name: "Apple", setting: "BILLING_APP_STORE_API_KEY" };

/** A purchase that a provider's reader reads as it reads a delivery. */
function asDelivery(
  provider: Provider,
  { config }: SourceDeps,
  receivedAt: Date,
  deliveryOf: (eventId: string, customer?: string) => unknown,
): FoundPurchase["toEvent"] {
  return (customer) => {
    const toPayload = (eventId: string) => provider.toPayload(sanitizeJson(deliveryOf(eventId, customer)));
    return { event: provider.read(toPayload("import"), receivedAt, config.BILLING_PRODUCTS), toPayload };
  };
}

const ListedId = z.string().min(1).max(255);
const StripeCustomer = z.union([z.string(), z.looseObject({ id: z.string(), email: z.string().nullish() })]);
const StripePage = z.object({
  data: z.array(z.looseObject({ id: ListedId, status: z.string(), customer: StripeCustomer.nullish() })),
  has_more: z.boolean(),
});

/** Stripe's clock has whole seconds: what a webhook reports of this second happened before or after the import. */
async function readStripe(deps: SourceDeps, query: Query): Promise<SourceBatch> {
  const { stripe: api } = deps.billingSources;
  if (!api) throw notConfigured(STRIPE.setting);
  const after = positionOf(query);
  const requestedAt = deps.now();
  const read = await readPage(STRIPE, after, async () => {
    const { data, has_more } = parseResponse(STRIPE, StripePage, await api.listSubscriptions(after));
    return { entries: data, hasMore: has_more };
  });
  if ("retry" in read) return waiting(read.retry, query);
  const created = Math.floor(requestedAt.getTime() / 1000);
  const found = read.page.entries.map(({ customer, ...subscription }): FoundPurchase => {
    const owner = typeof customer === "string" ? { id: customer } : customer;
    const toEvent = asDelivery(stripe, deps, requestedAt, (id, accountId) => {
      const metadata = { ...Object(subscription.metadata), ...(accountId && { accountId }) };
      const object = { ...subscription, customer: owner?.id ?? null, metadata };
      return { id, type: "IMPORT", created, livemode: subscription.livemode, data: { object } };
    });
    return { line: null, provider: stripe.name, email: owner?.email ?? null, toEvent };
  });
  return { found, failures: [], retry: null, next: read.next };
}

const PaddlePage = z.object({
  data: z.array(z.looseObject({ id: ListedId, status: z.string(), customer_id: z.string().nullish() })),
  meta: z.object({ pagination: z.object({ has_more: z.boolean() }) }),
});
const PaddleCustomers = z.object({ data: z.array(z.object({ id: z.string(), email: z.string().nullish() })) });

async function readPaddle(deps: SourceDeps, query: Query): Promise<SourceBatch> {
  const { paddle: api } = deps.billingSources;
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
  const found = read.page.entries.map((subscription): FoundPurchase => {
    const toEvent = asDelivery(paddle, deps, requestedAt, (event_id, accountId) => {
      const custom_data = { ...Object(subscription.custom_data), ...(accountId && { accountId }) };
      const event = { event_id, event_type: "IMPORT", occurred_at: requestedAt.toISOString() };
      return { environment: api.environment, ...event, data: { ...subscription, custom_data } };
    });
    return { line: null, provider: paddle.name, email: emails.get(subscription.customer_id ?? "") ?? null, toEvent };
  });
  return { found, failures: [], retry: null, next: read.next };
}

/** RevenueCat cannot list its customers. Asks about those of the lines, or about the accounts, by all their ids. */
async function readRevenueCat(deps: SourceDeps, query: Query, lines: readonly Line[]): Promise<SourceBatch> {
  const { billing, config, db, now } = deps;
  if (!billing) throw notConfigured(REVENUECAT.setting);
  const getCustomer = paced(INTERVAL_MS.revenuecat, billing.getCustomer);
  type Customer = Question & { accountId: string | null; appUserIds: string[] };
  const seen: { at: Date; line: number | null; snapshot: SnapshotEvent }[] = [];
  const askAbout = async ({ line, accountId, appUserIds }: Customer): Promise<FoundPurchase[]> => {
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
    for (const placed of await placeSnapshot({ db, config }, snapshot, at)) {
      const toEvent = (): ReturnType<FoundPurchase["toEvent"]> => ({ event: placed.snapshot, toPayload: null });
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

const AppStoreStatuses = z.object({
  data: z.array(
    z.object({
      lastTransactions: z.array(
        z.object({ status: z.int(), signedTransactionInfo: z.string(), signedRenewalInfo: z.string() }),
      ),
    }),
  ),
});

/**
 * Asks about each transaction. The response has all subscriptions of an Apple Account, which several customers may share: each is
 * of the customer whose line names it.
 */
async function readAppStore(deps: SourceDeps, query: Query, lines: readonly Line[]): Promise<SourceBatch> {
  const { appStore: api } = deps.billingSources;
  if (!api) throw notConfigured(APPLE.setting);
  const getStatuses = paced(INTERVAL_MS.appStore, api.getStatuses);
  const seen = new Set<string>();
  const { entries, failures } = parseLines(TransactionRecord, lines, query);
  const named = new Set(entries.map(({ record }) => record.transactionId));
  const questions = entries.map(({ record, ...rest }) => ({ ...rest, ...record, id: record.transactionId }));
  const position = { start: query.cursor ?? null, isEnd: true };
  const batch = await askEach(APPLE, questions, position, async ({ line, transactionId, customer }) => {
    const requestedAt = deps.now();
    const response = await getStatuses(transactionId);
    if (response === null) throw new Error("no app has this transaction");
    const { data } = parseResponse(APPLE, AppStoreStatuses, response);
    const found: FoundPurchase[] = [];
    const transactions = data.flatMap((group) => group.lastTransactions);
    for (const { status, signedTransactionInfo, signedRenewalInfo } of transactions) {
      const parts = { transaction: signedTransactionInfo, renewal: signedRenewalInfo };
      const signed = await verifyStatus(deps.config, status, parts);
      if (!signed) throw new Error("the response is not signed by Apple for one of BILLING_APP_STORE_APPS");
      const { originalTransactionId: id = "", transactionId: last = "" } = signed.transaction;
      const isOfLine = transactions.length === 1 || [id, last].includes(transactionId);
      if (!isOfLine && (named.has(id) || named.has(last))) continue; // another line's
      if (seen.size === seen.add(id).size) continue;
      const token = signed.transaction.appAccountToken ?? signed.renewalInfo.appAccountToken;
      const toEvent = asDelivery(appStore, deps, requestedAt, (notificationUUID) => {
        const appAccountToken = token ?? (isOfLine ? customer : undefined);
        const transaction = { ...signed.transaction, appAccountToken };
        return { ...signed, notification: { ...signed.notification, notificationUUID }, transaction };
      });
      found.push({ line, provider: appStore.name, email: null, toEvent });
    }
    return found;
  });
  return withFailures(batch, failures);
}

async function readTable(deps: SourceDeps, query: Query, lines: readonly Line[]): Promise<SourceBatch> {
  const { entries, failures } = parseLines(PurchaseRecord, lines, query);
  const found: FoundPurchase[] = [];
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

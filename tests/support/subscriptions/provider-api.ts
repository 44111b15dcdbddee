import { createPublicKey, randomUUID, verify } from "node:crypto";
import { z } from "zod";
import { clock } from "@/tests/support/clock";
import { API_KEYS, appleTransaction, paddleSubscription, type Request, stripeSubscription } from "./provider-objects";
import { apple, appleBody, type Json, paddleHeader, stripeHeader } from "./providers";

/** An event as the provider sends it, signed when it is called: it is delivered later, or never. */
export type Webhook = () => { body: string; headers: Record<string, string> };
type Reply = { status: number; body: unknown; headers?: Record<string, string> };
/** What customers do at a provider, and its API. Each change returns its webhooks. `id`: what `subscribe` or `buy` named. */
export type FakeProvider = {
  store: string;
  /** The entitlements of the product that `upgrade` changes to, and the status after `fail`. */
  premium: string[];
  unpaid: { status: string; isActive: boolean };
  /** Answers a request as the provider documents it. */
  answer: (request: Request) => Reply;
  /** Purchases by an account: a subscription that ends, or renews, after a time, or one for life. */
  subscribe: (accountId: string, endsInMs: number) => { id: string; webhooks: Webhook[] };
  buy: (accountId: string) => { id: string; webhooks: Webhook[] };
  change: Record<"renew" | "cancel" | "upgrade" | "expire" | "fail", (id: string) => Webhook[]>;
  /** A subscription ends with its refund: Apple revokes it, at the others the seller also cancels it. */
  refund: (id: string) => Webhook[];
  reverseRefund: (id: string) => Webhook[];
};

const DAY_MS = 24 * 60 * 60 * 1000;
const MONTH_MS = 30 * DAY_MS;
const nowMs = () => clock.now().getTime();
const ok = (body: unknown): Reply => ({ status: 200, body });

/** Allows so many requests in a time, by the tests' clock. Returns when the next one is allowed, if it is not this one. */
function createLimit(max: number, windowMs: number, blockMs = windowMs): () => number | null {
  let [start, count, blockedUntil] = [0, 0, 0];
  return () => {
    const now = nowMs();
    if (now < blockedUntil) return blockedUntil;
    if (now - start >= windowMs) [start, count] = [now, 0];
    count += 1;
    if (count <= max) return null;
    blockedUntil = now + blockMs;
    return blockedUntil;
  };
}

/** Ids that sort by the time at which they were made, as Paddle's and UUIDs of version 7 do. */
let made = 0;
const nextNumber = (digits: number) => {
  made += 1;
  return String(made).padStart(digits, "0");
};
const paddleId = (kind: string) => `${kind}_01${nextNumber(24)}`;

function found<Value>(rows: Map<string, Value>, id: string): Value {
  const row = rows.get(id);
  if (row === undefined) throw new Error(`the fake has no ${id}`);
  return row;
}

// ── Paddle ──────────────────────────────────────────────────────────────────────────────────────

const DOMAINS = { id: "pri_domains", product_id: "pro_01gsz97mq9pa4fkyy0wqenepkz", custom_data: null };
const monthly = { billing_cycle: { interval: "month", frequency: 1 } };

/** Paddle Billing's API: subscriptions, transactions, adjustments, customers and events. */
export function fakePaddle({ perMinute = 240 } = {}): FakeProvider & { events: Json[] } {
  const subscriptions = new Map<string, Json>();
  const transactions = new Map<string, Json>();
  const adjustments = new Map<string, Json>();
  const events: Json[] = [];
  const isLimited = createLimit(perMinute, 60_000);
  const time = (ms = nowMs()) => new Date(ms).toISOString();
  const emit = (event_type: string, data: Json): Webhook => {
    const event = { event_id: paddleId("evt"), event_type, occurred_at: time(), data: structuredClone(data) };
    events.push(event);
    return () => {
      const body = JSON.stringify({ ...event, notification_id: paddleId("ntf") });
      return { body, headers: paddleHeader(body) };
    };
  };
  const update = (id: string, fields: Json, type = "subscription.updated") => {
    const subscription = { ...found(subscriptions, id), ...fields, updated_at: time() };
    subscriptions.set(id, subscription);
    return emit(type, subscription);
  };
  const charge = (accountId: string | null, fields: Json) => {
    const transaction = {
      id: paddleId("txn"),
      status: "completed",
      custom_data: accountId ? { accountId } : null,
      subscription_id: null,
      created_at: time(),
      billed_at: time(),
      updated_at: time(),
      details: { totals: { total: "1000", grand_total: "1000" } },
      ...fields,
    };
    transactions.set(transaction.id, transaction);
    return transaction;
  };
  const adjust = (transactionId: string, action: string): Webhook[] => {
    const { customer_id, subscription_id } = found(transactions, transactionId);
    const adjustment = {
      id: paddleId("adj"),
      action,
      type: "full",
      transaction_id: transactionId,
      subscription_id,
      customer_id,
      status: action === "refund" ? "pending_approval" : "approved",
      items: [{ id: paddleId("adjitm"), type: "full" }],
      totals: { total: "1000" },
      created_at: time(),
      updated_at: time(),
    };
    const created = emit("adjustment.created", adjustment);
    const approved = { ...adjustment, status: "approved" };
    adjustments.set(adjustment.id, approved);
    return action === "refund" ? [created, emit("adjustment.updated", approved)] : [created];
  };
  /** "Pagination": a list after an id, in the order of ids. */
  const list = (rows: Iterable<Json>, { searchParams }: URL, idOf = ({ id }: Json) => String(id)): Reply => {
    const pageSize = Math.min(Number(searchParams.get("per_page") ?? 50), 200);
    const [after, ids] = [searchParams.get("after"), searchParams.get("id")?.split(",")];
    const isDescending = searchParams.get("order_by") === "id[DESC]";
    const sorted = [...rows]
      .filter((row) => ids?.includes(idOf(row)) ?? true)
      .sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
    if (isDescending) sorted.reverse();
    const rest = sorted.filter((row) => after === null || (isDescending ? idOf(row) < after : idOf(row) > after));
    const data = rest.slice(0, pageSize);
    const last = data.at(-1);
    const next = `https://api.paddle.com/next?after=${last ? idOf(last) : after}`;
    const pagination = { per_page: pageSize, next, has_more: rest.length > pageSize, estimated_total: sorted.length };
    return ok({ data, meta: { request_id: randomUUID(), pagination } });
  };
  const failure = (status: number, code: string, headers = {}): Reply => ({
    status,
    headers,
    body: { error: { type: status < 500 ? "request_error" : "api_error", code }, meta: { request_id: randomUUID() } },
  });
  const one = (rows: Map<string, Json>, id: string, more: (row: Json) => Json = () => ({})): Reply => {
    const row = rows.get(id);
    return row ? ok({ data: { ...row, ...more(row) }, meta: { request_id: randomUUID() } }) : failure(404, "not_found");
  };
  const answer = ({ url, authorization }: Request): Reply => {
    if (authorization !== `Bearer ${API_KEYS.paddle}`) return failure(403, "forbidden");
    const until = isLimited();
    if (until !== null) {
      return failure(429, "too_many_requests", { "retry-after": String(Math.ceil((until - nowMs()) / 1000)) });
    }
    const [, kind = "", id] = url.pathname.split("/");
    const includes = url.searchParams.get("include")?.split(",") ?? [];
    const adjustmentsOf = (transaction: Json) => ({
      ...(includes.includes("adjustments") && {
        adjustments: [...adjustments.values()].filter(({ transaction_id }) => transaction_id === transaction.id),
      }),
    });
    if (kind === "subscriptions") return id ? one(subscriptions, id) : list(subscriptions.values(), url);
    if (kind === "transactions") {
      if (id) return one(transactions, id, adjustmentsOf);
      return list(
        [...transactions.values()].map((row) => ({ ...row, ...adjustmentsOf(row) })),
        url,
      );
    }
    if (kind === "adjustments") return list(adjustments.values(), url);
    if (kind === "events") {
      const types = url.searchParams.get("event_type")?.split(",");
      const ofTypes = events.filter(({ event_type }) => types?.includes(String(event_type)) ?? true);
      return list(ofTypes, url, ({ event_id }) => String(event_id));
    }
    if (kind === "customers") return list([], url);
    return failure(404, "invalid_url");
  };
  const change: FakeProvider["change"] = {
    renew: (id) => {
      const { customer_id, items } = found(subscriptions, id);
      const current_billing_period = { starts_at: time(), ends_at: time(nowMs() + MONTH_MS) };
      const paid = charge(null, { customer_id, items, subscription_id: id, origin: "subscription_recurring" });
      return [update(id, { current_billing_period }), emit("transaction.completed", paid)];
    },
    cancel: (id) => {
      const { ends_at } = found(subscriptions, id).current_billing_period as Json;
      return [update(id, { scheduled_change: { action: "cancel", effective_at: ends_at, resume_at: null } })];
    },
    upgrade: (id) => [update(id, { items: [{ status: "active", quantity: 1, price: { ...DOMAINS, ...monthly } }] })],
    expire: (id) => {
      const ended = { status: "canceled", canceled_at: time(), current_billing_period: null, scheduled_change: null };
      return [update(id, ended, "subscription.canceled")];
    },
    fail: (id) => {
      const current_billing_period = { starts_at: time(), ends_at: time(nowMs() + MONTH_MS) };
      return [update(id, { status: "past_due", current_billing_period }, "subscription.past_due")];
    },
  };
  return {
    store: "PADDLE",
    premium: ["domains"],
    unpaid: { status: "grace_period", isActive: true },
    events,
    answer,
    subscribe: (accountId, endsInMs) => {
      const current_billing_period = { starts_at: time(), ends_at: time(nowMs() + endsInMs) };
      const fields = { id: paddleId("sub"), started_at: time(), current_billing_period };
      const subscription = paddleSubscription(accountId, fields);
      const id = String(subscription.id);
      subscriptions.set(id, subscription);
      return { id, webhooks: [emit("subscription.created", subscription)] };
    },
    buy: (accountId) => {
      const items = [{ quantity: 1, price: { ...DOMAINS, billing_cycle: null } }];
      const transaction = charge(accountId, { customer_id: paddleId("ctm"), items });
      return { id: transaction.id, webhooks: [emit("transaction.completed", transaction)] };
    },
    change,
    refund: (id) => {
      if (!subscriptions.has(id)) return adjust(id, "refund");
      const { customer_id } = found(subscriptions, id);
      const paid = charge(null, { customer_id, items: [], subscription_id: id, origin: "web" });
      return [...adjust(paid.id, "refund"), ...change.expire(id)];
    },
    reverseRefund: (id) => adjust(id, "chargeback_reverse"),
  };
}

// ── The App Store ───────────────────────────────────────────────────────────────────────────────

type AppleSubscription = { transactions: Json[]; renewalInfo: Json; status: number };
const Claims = z.object({
  iss: z.string(),
  iat: z.int(),
  exp: z.int(),
  aud: z.literal("appstoreconnect-v1"),
  bid: z.string(),
});
const HistoryRequest = z.strictObject({
  startDate: z.int(),
  endDate: z.int(),
  notificationType: z.string().optional(),
  transactionId: z.string().optional(),
  onlyFailures: z.boolean().optional(),
});
const HISTORY_PAGE = 20;
const HISTORY_MS = 180 * DAY_MS;

/** The App Store Server API: statuses, transactions, and the history of notifications. */
export function fakeAppStore({ perHour = 180_000 } = {}): FakeProvider & { history: Json[] } {
  const subscriptions = new Map<string, AppleSubscription>();
  const purchases = new Map<string, Json>();
  const history: { signedPayload: string; at: number; transactionId: unknown; type: string }[] = [];
  const isLimited = createLimit(perHour, 60 * 60_000);
  const part = (given: Json) =>
    apple.signed({ ...given, environment: "Production", bundleId: "com.example", signedDate: nowMs() });
  const emit = (
    type: string,
    subtype: string | undefined,
    data: Json,
    transaction: Json,
    renewalInfo?: Json,
  ): Webhook => {
    const body = appleBody({
      type,
      ...(subtype && { subtype }),
      data,
      transaction,
      ...(renewalInfo && { renewalInfo }),
    });
    const { signedPayload } = JSON.parse(body) as { signedPayload: string };
    history.push({ signedPayload, at: nowMs(), transactionId: transaction.originalTransactionId, type });
    return () => ({ body, headers: {} });
  };
  const notify = (id: string, type: string, subtype?: string): Webhook => {
    const { transactions, renewalInfo, status } = found(subscriptions, id);
    return emit(type, subtype, { status }, transactions.at(-1) as Json, renewalInfo);
  };
  /** Replaces the newest transaction, or adds one. */
  const update = (id: string, fields: { transaction?: Json; next?: Json; renewalInfo?: Json; status?: number }) => {
    const known = found(subscriptions, id);
    const last = known.transactions.at(-1) as Json;
    if (fields.transaction) Object.assign(last, fields.transaction);
    if (fields.next)
      known.transactions.push({ ...last, transactionId: appleId(), purchaseDate: nowMs(), ...fields.next });
    Object.assign(known.renewalInfo, fields.renewalInfo);
    known.renewalInfo.renewalDate = known.transactions.at(-1)?.expiresDate;
    known.status = fields.status ?? known.status;
  };
  const failure = (status: number, errorCode: number, headers = {}): Reply => ({
    status,
    headers,
    body: { errorCode, errorMessage: "as documented" },
  });
  const customerOf = (transactionId: string) =>
    [...subscriptions].find(([, { transactions }]) =>
      transactions.some((one) => [one.transactionId, one.originalTransactionId].includes(transactionId)),
    )?.[1];
  const statusesOf = (transactionId: string): Reply => {
    const known = customerOf(transactionId);
    if (!known && !purchases.has(transactionId)) return failure(404, 4_040_010);
    const { transactions, renewalInfo, status } = known ?? {};
    const last = transactions?.at(-1);
    const item = last && {
      originalTransactionId: last.originalTransactionId,
      status,
      signedTransactionInfo: part(last),
      signedRenewalInfo: part(renewalInfo as Json),
    };
    const data = item ? [{ subscriptionGroupIdentifier: "55555", lastTransactions: [item] }] : [];
    return ok({ environment: "Production", appAppleId: 41_234, bundleId: "com.example", data });
  };
  const transactionInfo = (id: string): Reply => {
    const known = customerOf(id)?.transactions.findLast((one) => one.transactionId === id) ?? purchases.get(id);
    return known ? ok({ signedTransactionInfo: part(known) }) : failure(404, 4_040_010);
  };
  const historyOf = ({ url, body }: Request): Reply => {
    const request = HistoryRequest.safeParse(JSON.parse(body));
    if (!request.success) return failure(400, 4_000_000);
    const { startDate, endDate, notificationType, transactionId } = request.data;
    if (startDate < nowMs() - HISTORY_MS) return failure(400, 4_000_012);
    if (startDate >= endDate) return failure(400, 4_000_014);
    const start = Number(url.searchParams.get("paginationToken") ?? 0);
    const all = history.filter(
      (one) =>
        one.at >= startDate &&
        one.at <= endDate &&
        (transactionId ?? one.transactionId) === one.transactionId &&
        (notificationType ?? one.type) === one.type,
    );
    const page = all.slice(start, start + HISTORY_PAGE);
    const hasMore = all.length > start + HISTORY_PAGE;
    return ok({
      hasMore,
      ...(hasMore && { paginationToken: String(start + HISTORY_PAGE) }),
      notificationHistory: page.map(({ signedPayload, at }) => ({
        signedPayload,
        sendAttempts: [{ attemptDate: at, sendAttemptResult: "SUCCESS" }],
      })),
    });
  };
  const answer = (request: Request): Reply => {
    const { url, method, authorization } = request;
    const bundleId = bundleIdOf(authorization);
    if (bundleId === null) return { status: 401, body: "Unauthenticated" };
    const until = isLimited();
    // "a UNIX time, in milliseconds"
    if (until !== null) return failure(429, 4_290_000, { "retry-after": String(Date.now() + until - nowMs()) });
    const [, , , kind = "", id = ""] = url.pathname.split("/").map(decodeURIComponent);
    if (bundleId !== "com.example") return failure(404, 4_040_010);
    if (kind === "subscriptions") return statusesOf(id);
    if (kind === "transactions") return transactionInfo(id);
    if (kind === "notifications" && id === "history" && method === "POST") return historyOf(request);
    return { status: 404, body: "" };
  };
  return {
    store: "APP_STORE",
    premium: ["pro", "storage"],
    unpaid: { status: "billing_retry", isActive: false },
    history,
    answer,
    subscribe: (accountId, endsInMs) => {
      const id = appleId();
      const transaction = appleTransaction(accountId, id, { expiresDate: nowMs() + endsInMs });
      const renewalInfo = { originalTransactionId: id, autoRenewProductId: transaction.productId, autoRenewStatus: 1 };
      subscriptions.set(id, { transactions: [transaction], renewalInfo, status: 1 });
      update(id, {});
      return { id, webhooks: [notify(id, "SUBSCRIBED", "INITIAL_BUY")] };
    },
    buy: (accountId) => {
      const id = appleId();
      const purchase = appleTransaction(accountId, id, { type: "Non-Consumable", expiresDate: undefined });
      purchases.set(id, purchase);
      return { id, webhooks: [emit("ONE_TIME_CHARGE", undefined, {}, purchase)] };
    },
    change: {
      renew: (id) => {
        update(id, { next: { expiresDate: nowMs() + MONTH_MS } });
        return [notify(id, "DID_RENEW")];
      },
      cancel: (id) => {
        update(id, { renewalInfo: { autoRenewStatus: 0 } });
        return [notify(id, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED")];
      },
      upgrade: (id) => {
        const productId = "com.example.premium";
        update(id, {
          next: { productId, expiresDate: nowMs() + MONTH_MS },
          renewalInfo: { autoRenewProductId: productId },
        });
        return [notify(id, "DID_CHANGE_RENEWAL_PREF", "UPGRADE")];
      },
      expire: (id) => {
        update(id, { transaction: { expiresDate: nowMs() }, status: 2 });
        update(id, { renewalInfo: { autoRenewStatus: 0, expirationIntent: 1 } });
        return [notify(id, "EXPIRED", "VOLUNTARY")];
      },
      fail: (id) => {
        update(id, { transaction: { expiresDate: nowMs() }, status: 3, renewalInfo: { isInBillingRetryPeriod: true } });
        return [notify(id, "DID_FAIL_TO_RENEW")];
      },
    },
    refund: (id) => {
      const revoked = { revocationDate: nowMs(), revocationReason: 0 };
      if (subscriptions.has(id)) {
        update(id, { transaction: revoked, status: 5 });
        return [notify(id, "REFUND")];
      }
      Object.assign(found(purchases, id), revoked);
      return [emit("REFUND", undefined, {}, found(purchases, id))];
    },
    reverseRefund: (id) => {
      const restored = { revocationDate: undefined, revocationReason: undefined };
      if (subscriptions.has(id)) {
        update(id, { transaction: restored, status: 1 });
        return [notify(id, "REFUND_REVERSED")];
      }
      Object.assign(found(purchases, id), restored);
      return [emit("REFUND_REVERSED", undefined, {}, found(purchases, id))];
    },
  };
}

const appleId = () => `20${nextNumber(14)}`;

/** The app that a token names ("Generating JSON Web Tokens for API requests"); null if it is not valid. */
function bundleIdOf(authorization = ""): string | null {
  const [header = "", payload = "", signature = ""] = authorization.replace("Bearer ", "").split(".");
  const key = { key: createPublicKey(API_KEYS.appStore), dsaEncoding: "ieee-p1363" } as const;
  const isSigned = verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"));
  const claims = Claims.safeParse(JSON.parse(Buffer.from(payload, "base64url").toString() || "null")).data;
  return isSigned && claims && claims.exp - claims.iat <= 60 * 60 ? claims.bid : null;
}

// ── Stripe ──────────────────────────────────────────────────────────────────────────────────────

const seconds = (ms = nowMs()) => Math.floor(ms / 1000);

/** Stripe's API: subscriptions, payments, and events, newest first. */
export function fakeStripe({ perSecond = 100 } = {}): FakeProvider & { events: Json[] } {
  const subscriptions = new Map<string, Json>();
  const payments = new Map<string, { session: Json; charge: Json }>();
  const events: Json[] = [];
  const isLimited = createLimit(perSecond, 1000);
  const emit = (type: string, object: Json, previous_attributes?: Json): Webhook => {
    const data = { object: structuredClone(object), ...(previous_attributes && { previous_attributes }) };
    const id = `evt_${nextNumber(24)}`;
    const event = {
      id,
      object: "event",
      api_version: "2026-10-28.endive",
      created: seconds(),
      livemode: true,
      type,
      data,
    };
    events.push(event);
    const body = JSON.stringify(event);
    return () => ({ body, headers: stripeHeader(body) });
  };
  const update = (id: string, fields: Json, type = "updated"): Webhook[] => {
    const known = found(subscriptions, id);
    const previous = Object.fromEntries(Object.keys(fields).map((name) => [name, known[name]]));
    const subscription = { ...known, ...fields };
    subscriptions.set(id, subscription);
    return [emit(`customer.subscription.${type}`, subscription, type === "updated" ? previous : undefined)];
  };
  const itemsOf = (endsInMs: number, priceId = "price_pro") => {
    const price = { id: priceId, object: "price", product: "prod_pro", metadata: {} };
    const period = { current_period_start: seconds(), current_period_end: seconds(nowMs() + endsInMs) };
    return { object: "list", data: [{ id: "si_1", object: "subscription_item", ...period, price }] };
  };
  const priceOf = (id: string) => (found(subscriptions, id).items as ReturnType<typeof itemsOf>).data[0]?.price.id;
  const expire = (id: string) =>
    update(id, { status: "canceled", canceled_at: seconds(), ended_at: seconds() }, "deleted");
  const failure = (status: number, type: string, code: string): Reply => ({ status, body: { error: { type, code } } });
  const list = (rows: Iterable<Json>, { pathname, searchParams }: URL): Reply => {
    const limit = Math.min(Number(searchParams.get("limit") ?? 10), 100);
    const types = searchParams
      .getAll("types[]")
      .concat([...searchParams].flatMap(([name, value]) => (/^types\[\d+\]$/.test(name) ? value : [])));
    const from = Number(searchParams.get("created[gte]") ?? 0);
    const until = Number(searchParams.get("created[lte]") ?? Number.POSITIVE_INFINITY);
    const payment = searchParams.get("payment_intent");
    const all = [...rows]
      .reverse()
      .filter(
        (row) =>
          (types.length === 0 || types.includes(String(row.type))) &&
          Number(row.created) >= from &&
          Number(row.created) <= until &&
          (payment ?? row.payment_intent) === row.payment_intent,
      );
    const [after, before] = [searchParams.get("starting_after"), searchParams.get("ending_before")];
    const rest = after ? all.slice(all.findIndex(({ id }) => id === after) + 1) : all;
    if (before === null) return page(rest.slice(0, limit), rest.length > limit, pathname);
    const newer = all.slice(
      0,
      Math.max(
        all.findIndex(({ id }) => id === before),
        0,
      ),
    );
    return page(newer.slice(-limit), newer.length > limit, pathname);
  };
  const page = (data: Json[], has_more: boolean, url: string) => ok({ object: "list", url, has_more, data });
  const expanded = (row: Json, { searchParams }: URL) =>
    [...searchParams.values()].some((value) => value === "customer" || value === "data.customer")
      ? row
      : { ...row, customer: (row.customer as Json).id };
  const answer = ({ url, authorization }: Request): Reply => {
    if (authorization !== `Bearer ${API_KEYS.stripe}`) return failure(401, "invalid_request_error", "");
    if (isLimited() !== null) return failure(429, "invalid_request_error", "rate_limit");
    const [, , kind = "", ...path] = url.pathname.split("/");
    const id = path.at(-1) ?? "";
    const missing = failure(404, "invalid_request_error", "resource_missing");
    if (kind === "subscriptions") {
      if (id === "")
        return list(
          [...subscriptions.values()].map((row) => expanded(row, url)),
          url,
        );
      const row = subscriptions.get(id);
      return row ? ok(expanded(row, url)) : missing;
    }
    if (kind === "events") return id === "" ? list(events, url) : ok(events.find((event) => event.id === id));
    if (kind === "charges")
      return list(
        [...payments.values()].map(({ charge }) => charge),
        url,
      );
    if (kind === "checkout")
      return list(
        [...payments.values()].map(({ session }) => session),
        url,
      );
    const payment = payments.get(id);
    if (kind === "payment_intents" && payment) {
      return ok({ id, object: "payment_intent", status: "succeeded", latest_charge: payment.charge });
    }
    return missing;
  };
  return {
    store: "STRIPE",
    premium: ["pro", "storage"],
    unpaid: { status: "grace_period", isActive: true },
    events,
    answer,
    subscribe: (accountId, endsInMs) => {
      const subscription = stripeSubscription(accountId, { items: itemsOf(endsInMs), start_date: seconds() });
      const id = String(subscription.id);
      subscriptions.set(id, subscription);
      return { id, webhooks: [emit("customer.subscription.created", subscription)] };
    },
    buy: (accountId) => {
      const id = `pi_${randomUUID()}`;
      const common = {
        payment_intent: id,
        customer: `cus_${randomUUID()}`,
        metadata: { accountId },
        created: seconds(),
      };
      const session = {
        ...common,
        id: `cs_${randomUUID()}`,
        object: "checkout.session",
        mode: "payment",
        payment_status: "paid",
        payment_link: "plink_lifetime",
        client_reference_id: accountId,
      };
      const charge = {
        ...common,
        id: `ch_${randomUUID()}`,
        object: "charge",
        amount: 1000,
        amount_refunded: 0,
        refunded: false,
      };
      payments.set(id, { session, charge });
      return { id, webhooks: [emit("checkout.session.completed", session)] };
    },
    change: {
      renew: (id) => update(id, { items: itemsOf(MONTH_MS, priceOf(id)) }),
      cancel: (id) => update(id, { cancel_at_period_end: true, canceled_at: seconds() }),
      upgrade: (id) => update(id, { items: itemsOf(MONTH_MS, "price_premium") }),
      expire,
      fail: (id) => update(id, { status: "past_due", items: itemsOf(MONTH_MS, priceOf(id)) }),
    },
    refund: (id) => {
      const refunded = { refunded: true, amount_refunded: 1000 };
      if (subscriptions.has(id)) {
        const { customer } = found(subscriptions, id);
        const charge = {
          id: `ch_${randomUUID()}`,
          object: "charge",
          payment_intent: `pi_${randomUUID()}`,
          customer,
          ...refunded,
        };
        return [emit("charge.refunded", charge), ...expire(id)];
      }
      const { charge } = found(payments, id);
      Object.assign(charge, refunded);
      return [emit("charge.refunded", charge, { refunded: false, amount_refunded: 0 })];
    },
    // Stripe has no event of it: a refund stays.
    reverseRefund: () => [],
  };
}

/** The response of one of the providers, by the path of the request. */
export const answerOf =
  (providers: { stripe: FakeProvider; paddle: FakeProvider; appStore: FakeProvider }) =>
  (request: Request): Reply => {
    const { pathname } = request.url;
    if (pathname.startsWith("/v1/")) return providers.stripe.answer(request);
    return pathname.startsWith("/inApps/") ? providers.appStore.answer(request) : providers.paddle.answer(request);
  };

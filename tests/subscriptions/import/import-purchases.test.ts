import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, emptyTables, withContext } from "@/tests/support/context";
import { billingEvent, DAY_MS, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";
import {
  importAll,
  postImport,
  requestImport,
  startProvider,
  withKeys,
} from "@/tests/support/subscriptions/billing-sources";
import { sendApple, sendPaddle, sendStripe } from "@/tests/support/subscriptions/deliver-with";
import { onRow, repair } from "@/tests/support/subscriptions/faults";
import { replay } from "@/tests/support/subscriptions/operator-actions";
import {
  appleStatuses,
  paddleList,
  paddleSubscription,
  stripeList,
  stripeSubscription,
} from "@/tests/support/subscriptions/provider-objects";
import { type Json, newAppleChain } from "@/tests/support/subscriptions/providers";
import { bought, iso, send, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";
import samples from "../providers/samples/app-store.json" with { type: "json" };

const provider = await startProvider();
const { revenueCat, billing } = await setUpRevenueCat();
afterAll(() => provider.close());

let ann: TestAccount;
beforeEach(async () => {
  ann = await newAccount();
  provider.requests.length = 0;
});

const { url } = provider;
const seconds = () => Math.floor(clock.now().getTime() / 1000);
const importsOf = (id: unknown) =>
  ctx().db.billingEvent.count({ where: { type: "IMPORT", originalTransactionId: String(id) } });
const verify = ({ id }: TestAccount) =>
  ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: clock.now() } });

describe("Stripe's subscriptions", () => {
  test("are read page by page, and belong to the accounts that they name; a repetition changes nothing", async () => {
    const [own, unknown] = [stripeSubscription(ann.id), stripeSubscription(null)];
    provider.respond(stripeList([own, unknown, stripeSubscription(null, { status: "incomplete" })], 1));
    expect(await importAll(url, { from: "stripe" })).toMatchObject([
      { status: "created", id: own.id, accountId: ann.id, store: "STRIPE", productId: "prod_pro" },
      { status: "created", id: unknown.id, accountId: null, customer: (unknown.customer as Json).id },
      { status: "ignored" },
    ]);
    expect(provider.requests.map((request) => request.url.searchParams.get("starting_after"))).toEqual([
      null,
      own.id,
      unknown.id,
    ]);
    expect(provider.requests[0]).toMatchObject({ authorization: "Bearer rk_live_of_the_fake" });
    expect(await statusOf(ann)).toMatchObject({ status: "active", entitlements: [{ id: "pro", isActive: true }] });
    clock.advance(60_000);
    expect(await importAll(url, { from: "stripe" })).toMatchObject([
      { status: "unchanged", accountId: ann.id },
      { status: "unchanged", accountId: null },
      { status: "ignored" },
    ]);
    expect(await importsOf(own.id)).toBe(1);
    const stored = await ctx().db.billingEvent.findFirstOrThrow({ where: { originalTransactionId: String(own.id) } });
    expect(JSON.stringify(stored.payload)).not.toContain("Ann Example");
    expect(await ctx().db.pushMessage.count({ where: { accountId: ann.id } })).toBe(0);
  });

  test("that differ from what is stored are corrected, and a dry run only says so", async () => {
    const own = stripeSubscription(ann.id);
    provider.respond(stripeList([own]));
    expect(await importAll(url, { from: "stripe", dryRun: "true" })).toMatchObject([
      { status: "created", accountId: ann.id },
    ]);
    expect(await importsOf(own.id)).toBe(0);
    await importAll(url, { from: "stripe" });
    clock.advance(60_000);
    provider.respond(stripeList([{ ...own, cancel_at_period_end: true, canceled_at: seconds() }]));
    const differing = [
      {
        status: "updated",
        differences: [
          { field: "status", before: "active", after: "canceled" },
          { field: "willRenew", before: true, after: false },
        ],
      },
    ];
    expect(await importAll(url, { from: "stripe", dryRun: "true" })).toMatchObject(differing);
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
    expect(await importAll(url, { from: "stripe" })).toMatchObject(differing);
    expect(await statusOf(ann)).toMatchObject({ status: "canceled" });
    clock.advance(60_000);
    provider.respond(stripeList([own]));
    expect(await importAll(url, { from: "stripe" })).toMatchObject([{ status: "updated" }]);
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
  });

  test("that are paused, without Stripe saying since when, keep the end that was known first", async () => {
    const own = stripeSubscription(ann.id, { status: "paused" });
    provider.respond(stripeList([own]));
    await importAll(url, { from: "stripe" });
    const before = await statusOf(ann);
    clock.advance(60_000);
    expect(await importAll(url, { from: "stripe" })).toMatchObject([{ status: "unchanged" }]);
    expect((await statusOf(ann)).accessEndsAt).toEqual(before.accessEndsAt);
  });

  test("that two imports read at once are stored once", async () => {
    const own = stripeSubscription(ann.id);
    provider.respond(stripeList([own]));
    const results = await withKeys(url, () => Promise.all([0, 1].map(() => postImport({ from: "stripe" }))));
    expect(results.map(({ status }) => status)).toEqual([200, 200]);
    expect(await importsOf(own.id)).toBe(1);
  });

  test("are read again by a replay, with the account and today's entitlements", async () => {
    await verify(ann);
    const own = stripeSubscription(null, {}, ann.email);
    provider.respond(stripeList([own]));
    await importAll(url, { from: "stripe", match: "email" });
    const { eventId } = await ctx().db.billingEvent.findFirstOrThrow({
      where: { originalTransactionId: String(own.id) },
    });
    const config = { BILLING_PRODUCTS: new Map([["prod_pro", ["pro", "storage"]]]) };
    await withContext({ config }, () => replay({ eventId }));
    expect(await statusOf(ann)).toMatchObject({ entitlements: [{ id: "pro" }, { id: "storage" }] });
  });
});

test.each<[string, (email: string) => Promise<void>]>([
  ["stripe", async (email) => provider.respond(stripeList([stripeSubscription(null, {}, email)]))],
  [
    "paddle",
    async (email) => {
      const subscription = paddleSubscription(null);
      provider.respond(paddleList([subscription], [{ id: subscription.customer_id, email }]));
    },
  ],
])(
  "an email at %s finds an account only if that is asked for, and the account's email is verified",
  async (from, list) => {
    const email = ann.email.toUpperCase();
    await list(email);
    await verify(ann);
    expect(await importAll(url, { from, dryRun: "true" })).toMatchObject([{ accountId: null }]);
    await ctx().db.account.update({ where: { id: ann.id }, data: { emailVerifiedAt: null } });
    expect(await importAll(url, { from, match: "email" })).toMatchObject([{ status: "created", accountId: null }]);
    await verify(ann);
    expect(await importAll(url, { from, match: "email" })).toMatchObject([{ status: "updated", accountId: ann.id }]);
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
    expect(await importAll(url, { from })).toMatchObject([{ status: "unchanged", accountId: ann.id }]);
  },
);

/** For each provider: its list with the customer's subscription, and a delivery by which the customer cancels it. */
const CANCELLATIONS: Record<string, () => { list: () => unknown; body?: string; cancel: () => Promise<unknown> }> = {
  stripe: () => {
    const own = stripeSubscription(ann.id);
    const customer = (own.customer as Json).id;
    const cancel = () => {
      const object = { ...own, customer, cancel_at_period_end: true, canceled_at: seconds() };
      const data = { object, previous_attributes: { cancel_at_period_end: false, canceled_at: null } };
      const event = { id: `evt_${randomUUID()}`, created: seconds(), livemode: true, data };
      return sendStripe({ ...event, type: "customer.subscription.updated" });
    };
    return { list: () => stripeList([own])(new URL(url)), cancel };
  },
  paddle: () => {
    const own = paddleSubscription(ann.id);
    const cancel = () => {
      const scheduled_change = { action: "cancel", effective_at: iso(clock.now().getTime() + DAY_MS), resume_at: null };
      const event = { event_id: `evt_${randomUUID()}`, occurred_at: clock.now().toISOString() };
      return sendPaddle({ ...event, event_type: "subscription.updated", data: { ...own, scheduled_change } });
    };
    return { list: () => paddleList([own])(new URL(url)), cancel };
  },
  "app-store": () => {
    const own = appleSubscription();
    const off = { ...own.renewalInfo, autoRenewStatus: 0 };
    const body = JSON.stringify({ transactionId: own.transaction.transactionId });
    const type = { type: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED", data: { status: 1 } };
    return {
      list: () => appleStatuses(own.transaction, own.renewalInfo),
      body,
      cancel: () => sendApple({ ...type, transaction: own.transaction, renewalInfo: off }),
    };
  },
};

describe.each(Object.keys(CANCELLATIONS))("a newer delivery of %s wins over an import", (from) => {
  test.each([
    ["that was stored before", 0],
    ["that was stored before, in the same second", 1],
    ["that is being read", 2],
  ])("%s", async (_, order) => {
    const make = CANCELLATIONS[from];
    const { list, body, cancel } = make?.() ?? { list: () => null, cancel: async () => {} };
    if (seconds() !== Math.floor((clock.now().getTime() + 500) / 1000)) clock.advance(600);
    provider.respond(async () => {
      const response = list();
      clock.advance(order === 0 ? 5_000 : 5);
      if (order === 2) await cancel();
      return response;
    });
    await importAll(url, { from }, body);
    if (order !== 2) await cancel();
    expect(await statusOf(ann)).toMatchObject({ status: "canceled", isActive: true });
    expect((await statusOf(ann)).subscriptions).toHaveLength(1);
  });
});

function appleSubscription(accountId: string | undefined = ann.id) {
  const [id, now] = [String(Math.floor(Math.random() * 1e15)), clock.now().getTime()];
  const dates = { purchaseDate: now - DAY_MS, originalPurchaseDate: now - DAY_MS, expiresDate: now + 29 * DAY_MS };
  const own = { originalTransactionId: id, transactionId: id, appAccountToken: accountId };
  const transaction: Json = { ...samples.transaction, ...own, ...dates };
  return { transaction, renewalInfo: { ...samples.renewalInfo, renewalDate: dates.expiresDate } as Json };
}

describe("the App Store's subscriptions", () => {
  test("are asked for by transaction, with a token for the app, and name the customer that the line names", async () => {
    const own = appleSubscription();
    const { appAccountToken: _, ...anonymous } = own.transaction;
    provider.respond(() => appleStatuses(anonymous, own.renewalInfo));
    const line = JSON.stringify({ transactionId: own.transaction.transactionId, customer: ann.id });
    expect(await importAll(url, { from: "app-store" }, `${line}\n${line}`)).toMatchObject([
      { line: 1, status: "created", accountId: ann.id, store: "APP_STORE" },
    ]);
    expect(provider.requests[0]?.url.pathname).toBe(`/inApps/v1/subscriptions/${own.transaction.transactionId}`);
    const [header, claims] = (provider.requests[0]?.authorization ?? "")
      .replace("Bearer ", "")
      .split(".")
      .map((part) => Buffer.from(part, "base64url").toString());
    expect(JSON.parse(header ?? "")).toEqual({ alg: "ES256", kid: "2X9R4HXF34", typ: "JWT" });
    expect(JSON.parse(claims ?? "")).toMatchObject({ aud: "appstoreconnect-v1", bid: "com.example" });
    expect(await statusOf(ann)).toMatchObject({ status: "active", entitlements: [{ id: "pro" }] });
    await replay({ eventId: (await ctx().db.billingEvent.findFirstOrThrow({ where: { accountId: ann.id } })).eventId });
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
  });

  test("of one Apple Account belong to the customers whose lines name them, and one without a line to nobody", async () => {
    const bob = await newAccount();
    const bought = [0, 1, 2].map(() => {
      const { transaction, renewalInfo } = appleSubscription();
      return { transaction: { ...transaction, appAccountToken: undefined } as Json, renewalInfo };
    });
    const groups = bought.flatMap(({ transaction, renewalInfo }) => appleStatuses(transaction, renewalInfo).data);
    provider.respond(() => ({ ...appleStatuses({}, {}), data: groups }));
    const ids = bought.map(({ transaction }) => transaction.transactionId);
    const lines = [ann, bob].map(({ id }, i) => JSON.stringify({ transactionId: ids[i], customer: id }));
    const results = await importAll(url, { from: "app-store" }, lines.join("\n"));
    expect(new Map(results.map(({ id, accountId }) => [id, accountId]))).toEqual(
      new Map([ann.id, bob.id, null].map((accountId, i) => [ids[i], accountId])),
    );
  });

  test("that Apple did not sign, or does not know, stop no other", async () => {
    const [forged, own] = [appleSubscription(), appleSubscription()];
    provider.respond(({ pathname }, response) => {
      if (pathname.endsWith("/1")) return send(response, 404, { errorCode: 4040010 });
      if (pathname.endsWith(String(own.transaction.transactionId)))
        return appleStatuses(own.transaction, own.renewalInfo);
      return appleStatuses(forged.transaction, forged.renewalInfo, 1, newAppleChain());
    });
    const unknown = Array.from({ length: 5 }, () => "1"); // more than an API that works fails in a row
    const ids = [forged.transaction.transactionId, "1", "x", own.transaction.transactionId, ...unknown];
    const lines = ids.map((transactionId) => JSON.stringify({ transactionId })).join("\n");
    const results = await importAll(url, { from: "app-store" }, lines);
    expect(results.map(({ line, status, failure }) => [line, status, failure])).toEqual([
      [3, "failed", "/transactionId Must be a transaction's id"],
      [1, "failed", "the response is not signed by Apple for one of BILLING_APP_STORE_APPS"],
      [2, "failed", "no app has this transaction"],
      ...unknown.map((_, i) => [5 + i, "failed", "no app has this transaction"]),
      [4, "created", null],
    ]);
  });
});

describe("a provider", () => {
  const requestOne = (query: Record<string, string> = {}) => requestImport(url, { from: "stripe", ...query });

  test("that limits requests is asked again from the same place", async () => {
    const own = stripeSubscription(ann.id);
    provider.respond((_, response) => send(response, 429, {}, { "retry-after": "7" }));
    expect(await requestOne()).toMatchObject({
      status: 200,
      body: { results: [], retry: { afterSeconds: 7 }, nextCursor: null },
    });
    provider.respond(stripeList([stripeSubscription(null), own], 1));
    const { nextCursor } = (await requestOne()).body;
    provider.respond((_, response) => send(response, 429, {}));
    const limited = await requestOne({ cursor: nextCursor ?? "" });
    expect(limited.body).toMatchObject({ retry: { afterSeconds: 60 }, nextCursor });
    provider.respond((_, response) => send(response, 500, {}));
    expect((await requestOne({ cursor: nextCursor ?? "" })).body).toMatchObject({
      retry: { afterSeconds: 5 },
      nextCursor,
    });
  });

  test.each<[string, (response: Parameters<typeof send>[0]) => unknown, string]>([
    ["refuses the key", (response) => send(response, 401, {}), "Check BILLING_STRIPE_API_KEY"],
    ["sends another form", () => ({ data: [{ id: 7 }], has_more: false }), "not as documented: data/0/id"],
    ["sends no JSON", (response) => response.end("<html>"), "not JSON"],
    ["repeats a page", () => ({ data: [{ id: "sub_1", status: "x" }], has_more: true }), "a page repeats"],
    ["repeats an empty page", () => ({ data: [], has_more: true }), "a page repeats"],
  ])("that %s gets a clear error", async (_, respond, detail) => {
    provider.respond((_url, response) => respond(response));
    const cursor = Buffer.from(JSON.stringify({ after: "sub_1" })).toString("base64url");
    const { status, body } = await requestOne({ cursor });
    expect([status, body.code]).toEqual([409, "billing_api_failed"]);
    expect(body.detail).toContain(detail);
  });

  test("whose redirect leads elsewhere does not get the key there", async () => {
    provider.respond((_, response) => response.writeHead(302, { location: `${url}/elsewhere` }).end());
    expect((await requestOne()).body).toMatchObject({ results: [], retry: { afterSeconds: 5 } });
    expect(provider.requests).toHaveLength(1);
  });

  test("without a key, a wrong query, too many lines and a key without the scope are refused", async () => {
    const { key } = await newKey({ scopes: ["billing:write"] });
    const post = (query: string, body = "", token = key) =>
      call("POST", `/api/admin/billing/import?${query}`, { body, token });
    expect(await (await post("from=stripe")).json()).toMatchObject({ code: "billing_api_not_configured" });
    for (const query of [
      "from=nobody",
      "",
      "from=csv&match=name",
      "from=csv&cursor=bm9uc2Vuc2U",
      "from=csv&dryRun=perhaps",
    ])
      expect((await post(query)).status).toBe(400);
    expect((await post("from=csv", "{}\n".repeat(501))).status).toBe(422);
    const { key: reader } = await newKey({ scopes: ["billing:read"] });
    expect((await post("from=csv", "", reader)).status).toBe(403);
  });
});

describe("RevenueCat's customers", () => {
  const importCustomers = (body?: string) =>
    withContext({ billing: billing() }, () => importAll(url, { from: "revenuecat" }, body));
  const ofAnn = (results: Awaited<ReturnType<typeof importAll>>) =>
    results.filter(({ accountId }) => accountId === ann.id);

  test("are asked for by the account's id and its old ids, and a newer event wins whenever it arrives", async () => {
    await emptyTables(); // every account is asked about
    ann = await newAccount();
    const old = `old-${randomUUID()}`;
    await ctx().db.accountAlias.create({ data: { accountId: ann.id, appUserId: old } });
    // The API knows the start of the period to the second.
    const start = Math.floor(clock.now().getTime() / 1000) * 1000 - 60_000 + 123;
    const { event, known } = bought({ id: old }, { purchased_at_ms: start, aliases: [old], original_app_user_id: old });
    const canceled = { ...known, purchase_date: iso(start - 123), unsubscribe_detected_at: iso(start + 10_000) };
    revenueCat.customers.set(old, subscriber({ monthly: canceled }));
    expect(ofAnn(await importCustomers())).toMatchObject([{ status: "created", customer: old }]);
    expect(revenueCat.asked).toEqual(expect.arrayContaining([old, ann.id]));
    expect(await statusOf(ann)).toMatchObject({ status: "canceled", entitlements: [{ id: "pro", isActive: true }] });
    await deliverOk(event);
    expect(await statusOf(ann)).toMatchObject({ status: "canceled" });
    expect(ofAnn(await importCustomers())).toMatchObject([{ status: "unchanged" }]);
    clock.advance(1000);
    const again = { id: randomUUID(), type: "UNCANCELLATION", event_timestamp_ms: clock.now().getTime() };
    await deliverOk({ ...event, ...again });
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
    expect((await statusOf(ann)).subscriptions).toHaveLength(1);
  });

  test("are one purchase with the renewal that first names their original transaction", async () => {
    await emptyTables();
    ann = await newAccount();
    const start = Math.floor(clock.now().getTime() / 1000) * 1000 - 60_000;
    const { event, known } = bought(ann, { purchased_at_ms: start });
    revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
    await importCustomers();
    clock.advance(DAY_MS);
    const now = clock.now().getTime();
    const times = { purchased_at_ms: now, event_timestamp_ms: now, expiration_at_ms: now + 30 * DAY_MS };
    const renewal = { ...event, ...times, id: randomUUID(), type: "RENEWAL", transaction_id: randomUUID() };
    const other = { ...renewal, id: randomUUID(), product_id: "other", original_transaction_id: randomUUID() };
    await deliverOk(other);
    await deliverOk({ ...renewal, original_transaction_id: randomUUID() });
    const { subscriptions } = await statusOf(ann);
    expect(subscriptions.map(({ productId }) => productId).sort()).toEqual(["monthly", "other"]);
    expect(await ctx().db.billingEvent.count({ where: { type: "IMPORT", purchaseId: null } })).toBe(0);
  });

  test("of a file belong to nobody until an account has their ids; one that fails stops no other", async () => {
    const [known, unknown] = [randomUUID(), randomUUID()].map((id) => `rc-${id}`);
    revenueCat.customers.set(known ?? "", subscriber({ monthly: bought({ id: known ?? "" }).known }));
    revenueCat.customers.set("broken", { subscriptions: 7 });
    const ids = ["broken", unknown, known].map((appUserId) => JSON.stringify({ appUserId }));
    expect(await importCustomers(ids.join("\n"))).toMatchObject([
      { line: 1, id: "broken", status: "failed" },
      { line: 3, customer: known, status: "created", accountId: null },
    ]);
  });

  test("a limit stops the request after what was read, and the next one goes on there", async () => {
    const ids = [0, 1].map(() => `rc-${randomUUID()}`);
    for (const id of ids) revenueCat.customers.set(id, subscriber({ monthly: bought({ id }).known }));
    const body = ids.map((appUserId) => JSON.stringify({ appUserId })).join("\n");
    revenueCat.respondWith((response, customer) => {
      if (customer === ids[1]) return send(response, 429, {}, { "retry-after": "9" });
      send(response, 200, { subscriber: revenueCat.customers.get(customer) });
    });
    const request = (cursor?: string) =>
      withContext({ billing: billing() }, () =>
        requestImport(url, { from: "revenuecat", ...(cursor && { cursor }) }, body),
      );
    const { body: first } = await request();
    expect(first).toMatchObject({ results: [{ customer: ids[0] }], retry: { afterSeconds: 9 } });
    revenueCat.respondWith();
    expect((await request(first.nextCursor ?? "")).body).toMatchObject({
      results: [{ customer: ids[1] }],
      retry: null,
      nextCursor: null,
    });
  });
});

describe("a table's purchases", () => {
  const at = (days: number) => new Date(clock.now().getTime() + days * DAY_MS).toISOString();
  const importTable = (records: (object | string)[], query = {}) =>
    importAll(
      url,
      { from: "csv", ...query },
      records.map((record) => (typeof record === "string" ? record : JSON.stringify(record))).join("\n"),
    );

  test("are those that a provider's events continue, and newer events win", async () => {
    const record = {
      transactionId: `GPA.${randomUUID()}`,
      store: "PLAY_STORE",
      customer: ann.id,
      productId: "pro:monthly",
      entitlementIds: ["pro"],
      purchasedAt: at(-10),
      expiresAt: at(20),
      asOf: at(-2),
    };
    const event = billingEvent("CANCELLATION", {
      app_user_id: ann.id,
      original_transaction_id: record.transactionId,
      transaction_id: record.transactionId,
      store: "PLAY_STORE",
      product_id: record.productId,
      purchased_at_ms: Date.parse(record.purchasedAt),
      expiration_at_ms: Date.parse(record.expiresAt),
      event_timestamp_ms: Date.parse(at(-1)),
      cancel_reason: "UNSUBSCRIBE",
    });
    await deliverOk(event);
    expect(await importTable([record])).toMatchObject([{ status: "unchanged", accountId: ann.id }]);
    expect(await statusOf(ann)).toMatchObject({ status: "canceled" });
    const bob = await newAccount();
    const [lifetime, first] = [randomUUID(), randomUUID()];
    const once = {
      transactionId: lifetime,
      provider: "stripe",
      customer: bob.id,
      productId: "prod_pro",
      purchasedAt: at(-400),
    };
    expect(await importTable([once, { ...record, transactionId: first, customer: bob.id }])).toMatchObject([
      { status: "created", accountId: bob.id },
      { status: "created", accountId: bob.id },
    ]);
    expect(await statusOf(bob)).toMatchObject({ isLifetime: true, entitlements: [{ id: "pro" }] });
    await deliverOk({
      ...event,
      id: randomUUID(),
      app_user_id: bob.id,
      original_transaction_id: first,
      transaction_id: first,
    });
    const response = await get("/api/subscription/purchases", { token: bob.token });
    expect(((await response.json()) as { purchases: Json[] }).purchases.map(({ status }) => status).sort()).toEqual([
      "active",
      "canceled",
    ]);
  });

  test("that are none are refused by line, and stop no other", async () => {
    const record = {
      transactionId: randomUUID(),
      store: "ROKU",
      productId: "x",
      purchasedAt: at(-1),
      expiresAt: at(1),
    };
    const { store: _, ...withoutStore } = record;
    const results = await importTable([
      "{",
      { ...record, expiresAt: "soon" },
      { ...record, colour: "red" },
      withoutStore,
      record,
    ]);
    expect(results.map(({ line, status }) => [line, status])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "failed"],
      [4, "failed"],
      [5, "created"],
    ]);
    expect(results[1]?.failure).toContain("/expiresAt");
  });
});

test("an import that is interrupted while it stores has its event in the audit trail", async () => {
  const imported = () => ctx().db.auditEvent.count({ where: { type: "billing_imported" } });
  const before = await imported();
  await onRow("INSERT", "RAISE EXCEPTION 'terminating connection' USING ERRCODE = '57P01';");
  onTestFinished(repair);
  const [purchasedAt, expiresAt] = [clock.now(), new Date(clock.now().getTime() + DAY_MS)];
  const line = { transactionId: randomUUID(), store: "APP_STORE", customer: ann.id, productId: "pro" };
  const body = JSON.stringify({ ...line, entitlementIds: ["pro"], purchasedAt, expiresAt });
  expect((await postImport({ from: "csv" }, body)).status).toBe(503);
  await repair();
  expect(await imported()).toBe(before + 1);
  // The repetition stores what is missing, or finds that nothing is.
  expect((await postImport({ from: "csv" }, body)).body.results).toMatchObject([{ status: "created" }]);
  expect(await statusOf(ann)).toMatchObject({ isActive: true });
});

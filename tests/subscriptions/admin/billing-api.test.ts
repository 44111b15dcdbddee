import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type {
  AssignedPurchases,
  BillingEventDetails,
  BillingEvents,
  PurchaseTimeline,
  ReplayedBatch,
} from "@/lib/subscriptions/admin/schema";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, ctx, emptyTables } from "@/tests/support/context";
import {
  anonymous,
  billingEvent,
  deliverOk,
  initialPurchase,
  statusOf,
  storedEvent,
} from "@/tests/support/subscriptions/billing";

let admin: TestAccount;
let support: TestAccount;

beforeAll(async () => {
  await emptyTables();
  [admin, support] = [await accountWithRole("admin"), await accountWithRole("support")];
});

async function read<Body>(path: string, token = support.token): Promise<Body> {
  const response = await get(`/api/admin/billing/${path}`, { token });
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Body;
}

async function change<Body>(path: string, json: object = {}, token = admin.token) {
  const response = await post(`/api/admin/billing/${path}`, json, { token });
  return { status: response.status, body: (await response.json()) as Body & { code?: string } };
}

/** The event with the provider's id, as the API shows it. */
async function show(eventId: string): Promise<BillingEventDetails> {
  const { events } = await read<BillingEvents>(`events?event=${encodeURIComponent(eventId)}`);
  return read(`events/${events[0]?.id}`);
}

const audited = (target: string) =>
  ctx().db.auditEvent.findMany({ where: { target }, select: { type: true, actor: true, details: true } });

/** An event that names no transaction, as a broken sender wrote it, and whose payload was corrected since. */
async function mendedEvent(account: { id: string }) {
  const event = billingEvent("INITIAL_PURCHASE", { app_user_id: account.id });
  await deliverOk({ ...event, transaction_id: null, original_transaction_id: null });
  await ctx().db.billingEvent.updateMany({ where: { eventId: event.id }, data: { payload: { event } as object } });
  return event;
}

describe("events", () => {
  test("are listed by each filter, and pages by cursor have each event once", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const sent = [];
    for (let i = 0; i < 5; i += 1) sent.push(initialPurchase(i % 2 === 0 ? ann.id : bob.id));
    for (const event of sent) await deliverOk(event);
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const page = await read<BillingEvents>(
        `events?limit=2&type=INITIAL_PURCHASE&account=${ann.id.toUpperCase()}${cursor}`,
      );
      seen.push(...page.events.map(({ eventId }) => eventId));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(seen).toEqual([sent[4]?.id, sent[2]?.id, sent[0]?.id]);
    const { purchaseId } = await show(sent[1]?.id ?? "");
    expect(await read<BillingEvents>(`events?purchase=${purchaseId}`)).toMatchObject({
      events: [{ eventId: sent[1]?.id }],
    });
    expect(await read(`events?account=${ann.id}&type=RENEWAL`)).toEqual({ events: [], nextCursor: null });
    expect(await read(`events?account=${ann.id}&receivedBefore=2020-01-01T00:00:00Z`)).toMatchObject({ events: [] });
    expect(await read(`events?account=${ann.id}&receivedFrom=2020-01-01T00:00:00Z`)).not.toMatchObject({ events: [] });
  });

  test.each(["account=nobody", "state=lost", "limit=0", "cursor=bm9uc2Vuc2U", "receivedFrom=yesterday", "event="])(
    "a list with %s is refused",
    async (query) => {
      const response = await get(`/api/admin/billing/events?${query}`, { token: support.token });
      expect([response.status, await response.json()]).toMatchObject([400, { code: "invalid_query" }]);
    },
  );

  test("are shown with payload, normalized form and what they changed, a transfer too", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const bought = initialPurchase(ann.id);
    await deliverOk(bought);
    clock.advance(1000);
    const moved = billingEvent("TRANSFER", { app_user_id: null, transferred_from: [ann.id], transferred_to: [bob.id] });
    await deliverOk(moved);
    const first = await show(bought.id);
    expect(first).toMatchObject({
      state: "processed",
      payload: { event: { id: bought.id } },
      facts: { productId: bought.product_id, isRefund: false },
      purchase: { accountId: bob.id, productId: bought.product_id },
    });
    const fields = first.changes.map(({ field }) => field);
    expect(fields).toEqual(expect.arrayContaining(["productId", "entitlementIds", "currentPeriodEndsAt", "accountId"]));
    expect((await show(moved.id)).changes).toEqual([
      { purchaseId: first.purchaseId, field: "accountId", before: ann.id, after: bob.id },
    ]);
    const unknown = await get(`/api/admin/billing/events/${randomUUID()}`, { token: support.token });
    expect([unknown.status, (await get("/api/admin/billing/events/x", { token: support.token })).status]).toEqual([
      404, 404,
    ]);
  });

  test("one that an older version stored in an unreadable form is shown all the same", async () => {
    const event = initialPurchase(anonymous());
    await deliverOk(event);
    await ctx().db
      .$executeRaw`UPDATE "BillingEvent" SET facts = '{"occurredAt": "never"}' WHERE "eventId" = ${event.id}`;
    expect(await show(event.id)).toMatchObject({ facts: null, changes: [] });
    const { purchaseId } = await show(event.id);
    expect(await read(`purchases/${purchaseId}`)).toMatchObject({ isCurrent: false, steps: [] });
  });
});

describe("replays", () => {
  test("a failed event is processed once its cause is gone, and the audit trail says who replayed it", async () => {
    const ann = await newAccount();
    const event = await mendedEvent(ann);
    const { id, reason } = await show(event.id);
    expect(reason).toBe("transaction_not_named");
    const replayed = await change(`events/${id}/replay`, { reason: "sender mended" });
    expect(replayed).toMatchObject({ status: 200, body: { id, eventId: event.id, status: "processed", reason: null } });
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
    expect(await audited(`billing-event:${id}`)).toEqual([
      { type: "billing_event_replayed", actor: "account", details: { status: "processed", reason: "sender mended" } },
    ]);
  });

  test("two operators replay one event at the same time: it counts once", async () => {
    const ann = await newAccount();
    const { id } = await show((await mendedEvent(ann)).id);
    const replays = await Promise.all(Array.from({ length: 4 }, () => change(`events/${id}/replay`)));
    expect(replays.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await statusOf(ann)).subscriptions).toHaveLength(1);
    expect(await audited(`billing-event:${id}`)).toHaveLength(4);
    expect(await ctx().db.pushMessage.count({ where: { accountId: ann.id } })).toBe(0);
  });

  test("all of a state are replayed page by page, and those that fail again are named", async () => {
    await ctx().db.billingEvent.deleteMany({ where: { state: "failed" } });
    const people = [await newAccount(), await newAccount(), await newAccount()];
    for (const person of people) await mendedEvent(person);
    const broken = billingEvent("RENEWAL", { transaction_id: null, original_transaction_id: null });
    await deliverOk(broken);
    const counts: Record<string, number> = {};
    const failed: string[] = [];
    let cursor: string | null | undefined;
    for (let requests = 0; cursor !== null; requests += 1) {
      expect(requests).toBeLessThan(50);
      const { body } = await change<ReplayedBatch>("replays", { state: "failed", limit: 2, cursor });
      for (const [status, count] of Object.entries(body.counts)) counts[status] = (counts[status] ?? 0) + count;
      failed.push(...body.failures.map(({ eventId }) => eventId));
      cursor = body.nextCursor;
      expect(cursor === null ? body.progress : 1).toBe(1);
    }
    expect(counts).toEqual({ processed: 3, failed: 1 });
    expect(failed).toEqual([broken.id]);
    for (const person of people) expect(await statusOf(person)).toMatchObject({ isActive: true });
  });

  test.each([{}, { state: "processed" }, { state: "failed", limit: 1000 }, { state: "failed", cursor: "x" }])(
    "%j is refused",
    async (json) => {
      expect(await change("replays", json)).toMatchObject({ status: 422, body: { code: "validation_failed" } });
    },
  );
});

test("a purchase's timeline shows the state before and after each event, as they count and not as they arrived", async () => {
  const ann = await newAccount();
  const bought = initialPurchase(ann.id);
  const names = { app_user_id: ann.id, original_transaction_id: bought.original_transaction_id };
  clock.advance(1000);
  const canceled = billingEvent("CANCELLATION", { ...names, cancel_reason: "UNSUBSCRIBE" });
  await deliverOk(canceled);
  await deliverOk(bought);
  const purchaseId = (await storedEvent(bought.id))?.purchaseId;
  const timeline = await read<PurchaseTimeline>(`purchases/${purchaseId}`);
  expect(timeline).toMatchObject({
    purchase: { id: purchaseId, accountId: ann.id },
    status: { status: "canceled", isActive: true },
    isCurrent: true,
    owners: [{ accountId: ann.id }, { accountId: ann.id }],
    steps: [
      {
        event: { eventId: canceled.id, type: "CANCELLATION" },
        before: { unsubscribedAt: null },
        after: { cancelReason: "UNSUBSCRIBE" },
        status: "canceled",
      },
      { event: { eventId: bought.id }, before: null, after: { unsubscribedAt: null }, status: "active" },
    ],
    nextCursor: null,
  });
  expect(timeline.steps[0]?.changes.map(({ field }) => field)).toEqual(["unsubscribedAt", "cancelReason"]);
  const page = await read<PurchaseTimeline>(`purchases/${purchaseId}?limit=1`);
  expect(await read(`purchases/${purchaseId}?cursor=${page.nextCursor}`)).toMatchObject({
    steps: [{ event: { eventId: bought.id } }],
    nextCursor: null,
  });
  await ctx().db.purchase.update({ where: { id: purchaseId ?? "" }, data: { productId: "by older rules" } });
  expect(await read(`purchases/${purchaseId}`)).toMatchObject({ isCurrent: false });
});

describe("assignments", () => {
  const assign = (json: object) => change<AssignedPurchases & { reason?: string }>("assignments", json);

  async function unlinked(name = anonymous()) {
    const event = billingEvent("INITIAL_PURCHASE", { app_user_id: name, original_app_user_id: name, aliases: [] });
    await deliverOk(event);
    return { name, event, purchaseId: (await storedEvent(event.id))?.purchaseId ?? "" };
  }

  test("an unlinked customer's purchases belong to the account from then on, also those that follow", async () => {
    const ann = await newAccount();
    const { name, event, purchaseId } = await unlinked();
    const planned = await assign({ purchaseId, accountId: ann.id, isDryRun: true });
    expect(planned.body).toMatchObject({ purchases: [{ id: purchaseId }], appUserIds: [name], eventId: null });
    expect(await statusOf(ann)).toMatchObject({ status: "none" });
    const assigned = await assign({ purchaseId, accountId: ann.id, reason: "receipt by email" });
    expect(assigned).toMatchObject({ status: 200, body: { eventId: expect.stringMatching(/^assignment:/) } });
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
    const renewal = { app_user_id: name, aliases: [], original_transaction_id: event.original_transaction_id };
    await deliverOk(billingEvent("RENEWAL", renewal));
    await unlinked(name);
    expect((await statusOf(ann)).subscriptions).toHaveLength(2);
    expect(await audited(`purchase:${purchaseId}`)).toMatchObject([
      { type: "purchase_assigned", details: { reason: "receipt by email" } },
    ]);
    expect(await assign({ purchaseId, accountId: ann.id })).toMatchObject({ status: 200, body: { eventId: null } });
    expect((await read<BillingEvents>(`events?event=${assigned.body.eventId}`)).events).toMatchObject([
      { type: "SUBSCRIBER_ALIAS", state: "processed", accountId: ann.id },
    ]);
  });

  test("a customer is also named by an App User ID", async () => {
    const ann = await newAccount();
    const { name, purchaseId } = await unlinked();
    expect((await assign({ appUserId: name, accountId: ann.id })).body).toMatchObject({
      purchases: [{ id: purchaseId }],
    });
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
  });

  test("two operators who assign one purchase to two accounts: one is refused", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const { purchaseId } = await unlinked();
    const both = await Promise.all([ann, bob].map(({ id }) => assign({ purchaseId, accountId: id })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(both.find(({ status }) => status === 409)?.body).toMatchObject({
      code: "assignment_conflict",
      reason: "linked",
    });
    expect([await statusOf(ann), await statusOf(bob)].filter(({ isActive }) => isActive)).toHaveLength(1);
  });

  test("a purchase of another account, an id that many share and a customer without a name are refused", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    const bought = initialPurchase(ann.id);
    await deliverOk(bought);
    const theirs = { purchaseId: (await storedEvent(bought.id))?.purchaseId, accountId: bob.id };
    expect(await assign(theirs)).toMatchObject({ status: 409, body: { reason: "linked" } });
    const shared = `everybody-${randomUUID()}`;
    for (let i = 0; i < 21; i += 1) await unlinked(shared);
    expect(await assign({ appUserId: shared, accountId: bob.id })).toMatchObject({
      status: 409,
      body: { reason: "shared_id" },
    });
    const nameless = billingEvent("INITIAL_PURCHASE", { app_user_id: null, original_app_user_id: null, aliases: null });
    await deliverOk(nameless);
    const nobodys = { purchaseId: (await storedEvent(nameless.id))?.purchaseId, accountId: bob.id };
    expect(await assign(nobodys)).toMatchObject({ status: 409, body: { reason: "no_customer" } });
    expect(await assign({ purchaseId: randomUUID(), accountId: bob.id })).toMatchObject({ status: 404 });
    const { purchaseId } = await unlinked();
    expect(await assign({ purchaseId, accountId: randomUUID() })).toMatchObject({ status: 422 });
    expect(await assign({ accountId: bob.id })).toMatchObject({ status: 422 });
    expect(await statusOf(bob)).toMatchObject({ status: "none" });
  });
});

test("a field that is not known is refused", async () => {
  expect(await change("prune", { dryRun: true })).toMatchObject({
    status: 422,
    body: { code: "validation_failed", errors: [{ code: "unrecognized_keys", detail: "Unknown: dryRun" }] },
  });
});

test("what is not configured is refused with the name of the variable", async () => {
  expect(await change("reconciliations")).toMatchObject({
    status: 409,
    body: { code: "billing_api_not_configured", detail: expect.stringContaining("BILLING_API_KEY") },
  });
  expect(await change("prune")).toMatchObject({ status: 409, body: { code: "retention_not_configured" } });
});

test("a page that ends at the search limit, for a filter that few events pass, repeats no event that was received at the same moment", async () => {
  const at = clock.now();
  await ctx().db.$executeRaw`
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, state, "appUserIds", "occurredAt", "receivedAt", facts)
    SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'revenuecat', 'tie-' || n,
      CASE WHEN n < 3 THEN 'RARE' ELSE 'COMMON' END, 'processed', '{}', ${at}::timestamptz, ${at}::timestamptz, '{}'
    FROM generate_series(1, 10005) AS n`;
  const seen: string[] = [];
  let pages = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: BillingEvents = await read(`events?type=RARE${cursor && `&cursor=${cursor}`}`);
    seen.push(...page.events.map(({ eventId }) => eventId));
    cursor = page.nextCursor;
    pages += 1;
  }
  expect(pages).toBeGreaterThan(1);
  expect(seen.toSorted()).toEqual(["tie-1", "tie-2"]);
});

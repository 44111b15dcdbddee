import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock } from "@/tests/support/context";
import { statusOf, storedEvent } from "@/tests/support/subscriptions/billing";
import { sendPaddle } from "@/tests/support/subscriptions/deliver-with";
import { type Json, PADDLE_SANDBOX_SECRET } from "@/tests/support/subscriptions/providers";
// Shortened from the mocks of @paddle/paddle-node-sdk's own tests (Apache 2.0), src/__tests__/mocks/notifications.
import samples from "./samples/paddle.json" with { type: "json" };

const DAY_MS = 24 * 60 * 60 * 1000;
const iso = (days: number) => new Date(clock.now().getTime() + days * DAY_MS).toISOString();

/** A sample as if it was sent now, with other fields of its data. */
function sample(name: keyof typeof samples, data: Json = {}): Json & { event_id: string } {
  const { data: given, ...event } = samples[name];
  clock.advance(10);
  return { ...event, event_id: `evt_${randomUUID()}`, occurred_at: iso(0), data: { ...given, ...data } };
}

const UPDATED = { event_type: "subscription.updated" };
const period = (from: number, to: number) => ({ starts_at: iso(from), ends_at: iso(to) });
const owned = (accountId: string, kind = "sub") => ({
  id: `${kind}_${randomUUID()}`,
  customer_id: `ctm_${randomUUID()}`,
  custom_data: { accountId },
});

test("Paddle's samples are applied as they are", async () => {
  const receipts = [];
  for (const event of Object.values(samples)) receipts.push((await sendPaddle(event))[1].status);
  expect(receipts).toEqual(["processed", "processed", "processed", "processed", "ignored"]);
  const { purchase } = (await storedEvent(samples["subscription.paused"].event_id)) ?? {};
  expect(purchase).toMatchObject({
    store: "PADDLE",
    entitlementIds: ["chat"],
    expirationReason: "SUBSCRIPTION_PAUSED",
  });
  const stored = await storedEvent(samples["transaction.completed"].event_id);
  expect(stored?.purchase).toMatchObject({ entitlementIds: ["domains"], isLifetime: true, periodType: null });
  expect(JSON.stringify(stored?.payload)).not.toContain("Joe Bloggs");
});

test("a subscription is followed through its states", async () => {
  const ann = await newAccount();
  const own = owned(ann.id);
  const month = { current_billing_period: period(-1, 29) };
  await sendPaddle(sample("subscription.created", { ...own, ...month, status: "trialing" }));
  expect(await statusOf(ann)).toMatchObject({ status: "trialing", entitlements: [{ id: "chat", isActive: true }] });
  const canceled = { scheduled_change: { action: "cancel", effective_at: iso(29), resume_at: null } };
  await sendPaddle(sample("subscription.created", { ...own, ...month, ...canceled }));
  expect(await statusOf(ann)).toMatchObject({ status: "canceled", isActive: true });
  await sendPaddle(sample("subscription.past_due", { ...own, ...month }));
  expect(await statusOf(ann)).toMatchObject({ status: "grace_period", isActive: true });
  await sendPaddle(sample("subscription.paused", { ...own, paused_at: iso(0) }));
  expect(await statusOf(ann)).toMatchObject({ status: "paused", isActive: false });
  await sendPaddle(sample("subscription.created", { ...own, ...month }));
  expect(await statusOf(ann)).toMatchObject({ status: "active", willRenew: true });
  await sendPaddle(sample("subscription.paused", { ...own, status: "canceled", canceled_at: iso(0) }));
  expect(await statusOf(ann)).toMatchObject({ status: "expired", isActive: false });
});

const [full, part] = [{ type: "full" }, { type: "partial" }];
const ofSubscription = { subscription_id: `sub_${randomUUID()}` };
test.each<[string, Json, Json, Json[]]>([
  ["an approved one", { subscription_id: null, ...full }, {}, [{ status: "pending_approval" }, part]],
  ["one of a transaction of a subscription", { ...ofSubscription, ...full }, ofSubscription, [part]],
  [
    "one without a type whose items are all full",
    { subscription_id: null, items: [full] },
    {},
    [{ items: [] }, { items: [part] }, { items: [full, part] }],
  ],
  [
    "one whose type is full, whichever items it lists",
    { ...full, items: [] },
    {},
    [...[[], null, [full]].map((items) => ({ ...part, items })), { type: undefined, items: null }],
  ],
])(
  "a full refund, %s, ends a one-time purchase, its reversal restores it, and others do not end it",
  async (...row) => {
    const [, refund, bought, ignored] = row;
    const ann = await newAccount();
    const own = owned(ann.id, "txn");
    await sendPaddle(sample("transaction.completed", { ...own, ...bought }));
    const adjust = (data: Json) =>
      sendPaddle(sample("adjustment.updated", { ...refund, transaction_id: own.id, ...data }));
    for (const data of ignored) expect(await adjust(data)).toMatchObject([200, { status: "ignored" }]);
    expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
    expect(await adjust({})).toMatchObject([200, { status: "processed" }]);
    expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
    await adjust({ action: "chargeback_reverse" });
    expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
  },
);

const partial = (id: string, amount: string, of: string, data: Json = {}) =>
  sample("adjustment.updated", { id, transaction_id: of, type: "partial", totals: { total: amount }, ...data });
const paid = (grand_total: string) => ({ details: { totals: { total: "99999", grand_total } } });

test.each([
  ["a partial refund of the whole amount", ["adj_1 65215"], "65215", "revoked"],
  ["partial refunds that add up", ["adj_1 60000", "adj_2 5215"], "65215", "revoked"],
  ["partial refunds that do not add up", ["adj_1 60000", "adj_2 5214"], "65215", "active"],
  ["two events of one partial refund", ["adj_1 40000", "adj_1 40000"], "65215", "active"],
  ["amounts that no number holds", ["adj_1 90071992547409930"], "90071992547409931", "active"],
  ["a payment of nothing", ["adj_1 0"], "0", "active"],
])("%s: before and after the payment arrives", async (_, refunds, amount, status) => {
  for (const isPaidFirst of [true, false]) {
    const ann = await newAccount();
    const own = owned(ann.id, "txn");
    const bought = sample("transaction.completed", { ...own, ...paid(amount) });
    const refunded = refunds.map((refund) => {
      const [id = "", of = ""] = refund.split(" ");
      return partial(id, of, own.id);
    });
    for (const event of isPaidFirst ? [bought, ...refunded] : [...refunded, bought]) {
      expect(await sendPaddle(event)).toMatchObject([200, { status: "processed" }]);
    }
    expect(await statusOf(ann)).toMatchObject({ status, isActive: status === "active" });
  }
});

test("a refund outlasts the reversal of another chargeback, and ends when too little stays refunded", async () => {
  const ann = await newAccount();
  const own = owned(ann.id, "txn");
  await sendPaddle(sample("transaction.completed", { ...own, ...paid("1000") }));
  await sendPaddle(partial("adj_1", "1000", own.id));
  const { refundedAt } = await statusOf(ann);
  await sendPaddle(partial("adj_2", "1000", own.id, { action: "chargeback" }));
  await sendPaddle(partial("adj_3", "1000", own.id, { action: "chargeback_reverse" }));
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", refundedAt });
  await sendPaddle(partial("adj_4", "1", own.id, { action: "chargeback_reverse" }));
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true, refundedAt: null });
});

test("a partial refund of an unknown amount or payment, and one that waits, change nothing", async () => {
  const ann = await newAccount();
  const own = owned(ann.id, "txn");
  await sendPaddle(partial("adj_1", "1000", `txn_${randomUUID()}`, { custom_data: own.custom_data }));
  expect(await statusOf(ann)).toMatchObject({ status: "none", isActive: false, subscriptions: [] });
  await sendPaddle(sample("transaction.completed", own));
  expect(await sendPaddle(partial("adj_1", "1000", own.id))).toMatchObject([200, { status: "processed" }]);
  for (const data of [
    { status: "pending_approval" },
    { status: "rejected" },
    { totals: { total: "-1" } },
    { action: "credit" },
  ]) {
    expect(await sendPaddle(partial("adj_2", "1000", own.id, data))).toMatchObject([200, { status: "ignored" }]);
  }
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
});

test.each([
  ["refund", ["refund"]],
  ["chargeback", ["chargeback", "chargeback_reverse"]],
  ["reversed chargeback", ["chargeback_reverse"]],
])("a full %s of a transaction without one-time items changes no status", async (_, actions) => {
  const ann = await newAccount();
  const own = owned(ann.id, "txn");
  const items = samples["transaction.completed"].data.items.filter(({ price }) => price.billing_cycle !== null);
  expect(await sendPaddle(sample("transaction.completed", { ...own, items }))).toMatchObject([
    200,
    { status: "ignored" },
  ]);
  for (const action of actions) {
    await sendPaddle(sample("adjustment.updated", { ...own, transaction_id: own.id, type: "full", action }));
  }
  expect(await statusOf(ann)).toMatchObject({ status: "none", subscriptions: [] });
});

test("a cancellation keeps its time, and a pause without an end blocks the renewal", async () => {
  const ann = await newAccount();
  const own = { ...owned(ann.id), current_billing_period: period(-1, 29), status: "active" };
  const update = (fields: Json) => sendPaddle({ ...sample("subscription.created", { ...own, ...fields }), ...UPDATED });
  const cancel = { scheduled_change: { action: "cancel", effective_at: iso(29), resume_at: null } };
  await update(cancel);
  const { canceledAt } = await statusOf(ann);
  clock.advance(DAY_MS);
  await update({ ...cancel, items: [] });
  expect(await statusOf(ann)).toMatchObject({ status: "canceled", canceledAt });
  const pause = { scheduled_change: { action: "pause", effective_at: iso(28), resume_at: null } };
  await update(pause);
  expect(await statusOf(ann)).toMatchObject({ status: "active", willRenew: false, canceledAt: null, resumesAt: null });
  await update({ scheduled_change: null });
  expect(await statusOf(ann)).toMatchObject({ status: "active", willRenew: true });
});

test("the secret tells the sandbox from production, and an old or wrong signature is refused", async () => {
  const ann = await newAccount();
  const created = sample("subscription.created", { ...owned(ann.id), current_billing_period: period(-1, 29) });
  expect(await sendPaddle(created, { secret: "pdl_ntfset_other" })).toMatchObject([401, {}]);
  expect(await sendPaddle(created, { ms: clock.now().getTime() - 360_000 })).toMatchObject([401, {}]);
  expect(await sendPaddle(created, { secret: PADDLE_SANDBOX_SECRET })).toMatchObject([200, { status: "processed" }]);
  expect(await statusOf(ann)).toMatchObject({ status: "none", subscriptions: [{ environment: "SANDBOX" }] });
  expect(await sendPaddle({ event_type: "subscription.created" })).toMatchObject([422, {}]);
  const odd = { ...created, event_id: `evt_${randomUUID()}`, data: { id: 5, items: {}, status: 7 } };
  expect(await sendPaddle(odd)).toMatchObject([200, { status: "ignored" }]);
});

test.each([
  ["subscription.past_due", "subscription.created", "active"],
  ["subscription.created", "subscription.past_due", "grace_period"],
] as const)(
  "%s and %s a microsecond later count in that order, whichever arrives first",
  async (first, second, status) => {
    for (const isReversed of [false, true]) {
      const ann = await newAccount();
      const own = { ...owned(ann.id), current_billing_period: period(-1, 29) };
      await sendPaddle(sample("subscription.created", own));
      const at = iso(0).replace("Z", "");
      const events = [
        { ...sample(first, own), occurred_at: `${at}001Z` },
        { ...sample(second, own), occurred_at: `${at}002Z` },
      ];
      for (const one of isReversed ? events.toReversed() : events) await sendPaddle(one);
      expect(await statusOf(ann)).toMatchObject({ status });
      const occurred_at = iso(0); // of two states of one instant the last to arrive counts
      for (const one of [first, second]) await sendPaddle({ ...sample(one, own), occurred_at });
      expect(await statusOf(ann)).toMatchObject({ status });
    }
  },
);

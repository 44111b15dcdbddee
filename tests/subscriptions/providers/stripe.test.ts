import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { clock } from "@/tests/support/context";
import { DAY_MS, statusOf, storedEvent } from "@/tests/support/subscriptions/billing";
import { sendStripe } from "@/tests/support/subscriptions/deliver-with";
import type { Json } from "@/tests/support/subscriptions/providers";

/** A new account for each test. */
let ann: TestAccount;
beforeEach(async () => {
  ann = await newAccount();
});

const nowSeconds = () => Math.floor(clock.now().getTime() / 1000);
const MONTH = 30 * 24 * 60 * 60;

/** "The Subscription object" of Stripe's API reference, with the period on the item as since API version 2025-03-31. */
function subscription(fields: Json = {}, start = nowSeconds() - 60): Json {
  return {
    id: "sub_1MowQVLkdIwHu7ixeRlqHVzs",
    object: "subscription",
    application: null,
    automatic_tax: { enabled: false, liability: null },
    billing_cycle_anchor: start,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, reason: null },
    collection_method: "charge_automatically",
    created: start,
    currency: "usd",
    customer: "cus_Na6dX7aXxi11N4",
    ended_at: null,
    invoice_settings: { issuer: { type: "self" } },
    items: {
      object: "list",
      data: [
        {
          id: "si_Na6dzxczY5fwHx",
          object: "subscription_item",
          current_period_start: start,
          current_period_end: start + MONTH,
          price: { id: "price_pro", object: "price", active: true, product: "prod_pro", metadata: {} },
          quantity: 1,
        },
      ],
    },
    livemode: true,
    metadata: {},
    start_date: start,
    status: "active",
    trial_end: null,
    ...fields,
  };
}

function event(type: string, object: Json, fields: Json = {}): Json {
  const { previous_attributes, ...rest } = fields;
  return {
    id: `evt_${randomUUID()}`,
    object: "event",
    api_version: "2026-10-28.endive",
    created: nowSeconds(),
    data: { object, ...(previous_attributes ? { previous_attributes } : {}) },
    livemode: true,
    type,
    ...rest,
  };
}

const ids = () => ({ id: `sub_${randomUUID()}`, customer: `cus_${randomUUID()}` });

test("a subscription is followed from its trial to its end", async () => {
  const own = { ...ids(), metadata: { accountId: ann.id } };
  const start = nowSeconds() - 60;
  const send = async (type: string, fields: Json, more: Json = {}, from = start) => {
    clock.advance(2_000);
    return sendStripe(event(`customer.subscription.${type}`, subscription({ ...own, ...fields }, from), more));
  };
  expect(await send("created", { status: "trialing" })).toMatchObject([200, { status: "processed" }]);
  expect(await statusOf(ann)).toMatchObject({ status: "trialing", store: "STRIPE", productId: "prod_pro" });
  expect(await statusOf(ann)).toMatchObject({ entitlements: [{ id: "pro", isActive: true }] });
  await send("trial_will_end", { status: "trialing" });
  await send("updated", { status: "active" });
  expect(await statusOf(ann)).toMatchObject({ status: "active", willRenew: true });
  await send("updated", { cancel_at_period_end: true, canceled_at: start + 30 });
  expect(await statusOf(ann)).toMatchObject({
    status: "canceled",
    willRenew: false,
    canceledAt: new Date((start + 30) * 1000).toISOString(),
  });
  await send("updated", {}, { previous_attributes: { cancel_at_period_end: true } });
  expect(await statusOf(ann)).toMatchObject({ status: "active", canceledAt: null });
  await send("updated", { status: "past_due" });
  expect(await statusOf(ann)).toMatchObject({ status: "grace_period", isActive: true });
  await send("updated", { status: "unpaid" });
  expect(await statusOf(ann)).toMatchObject({ status: "billing_retry", isActive: false });
  await send("paused", { status: "paused" });
  expect(await statusOf(ann)).toMatchObject({ status: "paused", isActive: false });
  await send("resumed", { status: "active" }, {}, nowSeconds());
  expect(await statusOf(ann)).toMatchObject({ status: "active", isActive: true });
  await send("deleted", {
    status: "canceled",
    ended_at: nowSeconds(),
    cancellation_details: { reason: "payment_failed" },
  });
  expect(await statusOf(ann)).toMatchObject({ status: "expired", expirationReason: "BILLING_ERROR" });
});

test("a payment that stays due has one grace period, although Stripe begins further periods", async () => {
  const own = { ...ids(), metadata: { accountId: ann.id } };
  const send = (status: string, start: number, created = start + 30) =>
    sendStripe(event("customer.subscription.updated", subscription({ ...own, status }, start), { created }));
  const start = nowSeconds() - 60;
  await send("past_due", start - MONTH);
  const accessEndsAt = new Date(start * 1000).toISOString();
  expect(await statusOf(ann)).toMatchObject({ status: "billing_retry", accessEndsAt });
  await send("past_due", start);
  expect(await statusOf(ann)).toMatchObject({ status: "billing_retry", isActive: false, accessEndsAt });
  await send("active", start, start + 40);
  expect(await statusOf(ann)).toMatchObject({ status: "active", gracePeriodEndsAt: null });
  await send("past_due", start, start + 50);
  expect(await statusOf(ann)).toMatchObject({ status: "grace_period", isActive: true });
});

test("a renewal is named as one, and a period before API version 2025-03-31 is on the subscription", async () => {
  const start = nowSeconds() - 60;
  const item = { price: { id: "price_x", product: "prod_x", metadata: { entitlements: "pro, storage" } } };
  const old = { current_period_start: start, current_period_end: start + MONTH, items: { data: [item] } };
  const renewal = event(
    "customer.subscription.updated",
    subscription({ ...ids(), ...old, metadata: { accountId: ann.id } }),
    { previous_attributes: { current_period_end: start, current_period_start: start - MONTH } },
  );
  await sendStripe(renewal);
  expect((await storedEvent(String(renewal.id)))?.type).toBe("RENEWAL");
  const { entitlements, currentPeriodEndsAt } = await statusOf(ann);
  expect(entitlements).toMatchObject([{ id: "pro" }, { id: "storage" }]);
  expect(currentPeriodEndsAt).toBe(new Date((start + MONTH) * 1000).toISOString());
});

test("changes of the same second count in the order that a subscription passes through", async () => {
  const own = { ...ids(), metadata: { accountId: ann.id } };
  const created = event("customer.subscription.created", subscription({ ...own, status: "incomplete" }));
  const updated = event("customer.subscription.updated", subscription({ ...own, status: "active" }));
  expect(await sendStripe({ ...updated, created: created.created })).toMatchObject([200, { status: "processed" }]);
  expect(await sendStripe(created)).toMatchObject([200, { status: "ignored" }]);
  expect(await statusOf(ann)).toMatchObject({ status: "active" });
});

test("a checkout session links a subscription whose metadata names nobody to the account", async () => {
  const own = ids();
  await sendStripe(event("customer.subscription.created", subscription(own)));
  expect(await statusOf(ann)).toMatchObject({ status: "none" });
  const session = { id: "cs_1", object: "checkout.session", mode: "subscription", subscription: own.id };
  const completed = { ...session, customer: own.customer, client_reference_id: ann.id, metadata: {} };
  expect(await sendStripe(event("checkout.session.completed", completed))).toMatchObject([
    200,
    { status: "processed" },
  ]);
  expect(await statusOf(ann)).toMatchObject({ status: "active" });
});

const payment = (accountId: string, fields: Json = {}) => ({
  id: `cs_${randomUUID()}`,
  object: "checkout.session",
  mode: "payment",
  payment_status: "paid",
  payment_link: "plink_lifetime",
  client_reference_id: accountId,
  customer: null,
  customer_details: { email: "ann@example.com", name: "Ann Example", address: { line1: "1 Main Street" } },
  ...fields,
});
const charge = (payment_intent: string, fields: Json = {}) => ({
  id: "ch_1",
  object: "charge",
  refunded: true,
  payment_intent,
  created: nowSeconds(),
  ...fields,
});

test("a payment is a purchase for a lifetime until it is refunded whole, in whatever order both arrive", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const [first, second] = [`pi_${randomUUID()}`, `pi_${randomUUID()}`];
  const bought = event("checkout.session.completed", payment(ann.id, { payment_intent: first }));
  await sendStripe(bought);
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
  expect(JSON.stringify(await storedEvent(String(bought.id)))).not.toMatch(/Ann Example|Main Street/);
  await sendStripe(event("charge.refunded", charge(first, { refunded: false })));
  expect(await statusOf(ann)).toMatchObject({ status: "active" });
  clock.advance(1_000);
  await sendStripe(event("charge.refunded", charge(first)));
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
  const late = event("checkout.session.completed", payment(bob.id, { payment_intent: second }));
  clock.advance(1_000);
  await sendStripe(event("charge.refunded", charge(second)));
  await sendStripe(late);
  expect(await statusOf(bob)).toMatchObject({ status: "revoked", isActive: false });
});

test("a dispute ends a one-time purchase once it is lost", async () => {
  const intent = `pi_${randomUUID()}`;
  await sendStripe(event("checkout.session.completed", payment(ann.id, { payment_intent: intent })));
  const dispute = { id: "du_1", object: "dispute", charge: "ch_1", payment_intent: intent, metadata: {} };
  clock.advance(1_000);
  for (const [type, status] of [
    ["charge.dispute.created", "needs_response"],
    ["charge.dispute.closed", "won"],
  ]) {
    expect(await sendStripe(event(String(type), { ...dispute, status }))).toMatchObject([200, { status: "ignored" }]);
  }
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
  await sendStripe(event("charge.dispute.closed", { ...dispute, status: "lost" }));
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
});

test("a payment that has not arrived yet gives nothing", async () => {
  const unpaid = payment(ann.id, { payment_intent: `pi_${randomUUID()}`, payment_status: "unpaid" });
  expect(await sendStripe(event("checkout.session.completed", unpaid))).toMatchObject([200, { status: "ignored" }]);
  const paid = { ...unpaid, payment_status: "paid" };
  await sendStripe(event("checkout.session.async_payment_succeeded", paid));
  expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true });
});

test("test mode grants nothing", async () => {
  const object = subscription({ ...ids(), metadata: { accountId: ann.id }, livemode: false });
  await sendStripe(event("customer.subscription.created", object, { livemode: false }));
  expect(await statusOf(ann)).toMatchObject({ status: "none", subscriptions: [{ environment: "SANDBOX" }] });
});

test("an event counts once; other types and thin events are ignored; one without an id is refused", async () => {
  const created = event("customer.subscription.created", subscription({ ...ids(), metadata: { accountId: ann.id } }));
  expect(await sendStripe(created)).toEqual([200, { status: "processed", eventId: created.id }]);
  expect(await sendStripe(created)).toEqual([200, { status: "duplicate", eventId: created.id }]);
  const thin = { id: `evt_${randomUUID()}`, object: "v2.core.event", type: "v1.billing.meter.no_meter_found" };
  const ignored = [thin, event("invoice.paid", { id: "in_1" }), event("invoice.payment_failed", { id: "in_1" })];
  const odd = event("customer.subscription.updated", { id: 7, status: ["active"], items: "none", metadata: "x" });
  for (const one of [...ignored, odd]) expect(await sendStripe(one)).toMatchObject([200, { status: "ignored" }]);
  for (const one of [{ type: "invoice.paid" }, [], 17]) expect((await sendStripe(one))[0]).toBe(422);
});

test.each([
  ["another secret", { secret: "whsec_another1" }],
  ["a signature of six minutes ago", { at: () => new Date(clock.now().getTime() - 360_000) }],
])("%s is refused", async (_, { at, secret }: { at?: () => Date; secret?: string }) => {
  const options = { ...(at && { at: at() }), ...(secret && { secret }) };
  const refused = await sendStripe(event("customer.subscription.created", subscription(ids())), options);
  expect(refused).toMatchObject([401, { code: "webhook_unauthorized" }]);
});

test("a status far in the future or the past does no harm", async () => {
  const own = { ...ids(), metadata: { accountId: ann.id } };
  const [, receipt] = await sendStripe(
    event("customer.subscription.created", subscription(own, 1e15), { created: 1e14 }),
  );
  expect(receipt).toMatchObject({ status: "processed" });
  clock.advance(DAY_MS);
  expect(await statusOf(ann)).toMatchObject({ store: "STRIPE" });
});

/** Two changes of a subscription within one second, and what the second one leaves. */
const TWO_CHANGES: [string, Json, Json, Json][] = [
  [
    "a cancellation and its undoing",
    { cancel_at_period_end: true },
    { cancel_at_period_end: false },
    { status: "active" },
  ],
  [
    "a change of plan and a cancellation",
    { plan: "b" },
    { plan: "b", cancel_at_period_end: true },
    { status: "canceled" },
  ],
  ["two changes of plan", { plan: "a" }, { plan: "b" }, { productId: "prod_b" }],
  ["a failed charge and its payment", { status: "past_due" }, { status: "active" }, { status: "active" }],
  [
    "a payment and the next failure",
    { cancel_at_period_end: true },
    { status: "past_due" },
    { status: "grace_period" },
  ],
];

test.each(TWO_CHANGES.flatMap((row) => [[...row, false] as const, [...row, true] as const]))(
  "%s within one second count in their order (%j, %j: %j), reversed on arrival: %j",
  async (_, first, second, expected, isReversed) => {
    const ann = await newAccount();
    const own = { ...ids(), metadata: { accountId: ann.id } };
    const start = nowSeconds() - 60;
    const object = ({ plan, ...fields }: Json = {}) => {
      const whole = subscription({ ...own, ...fields }, start);
      const [item] = (whole.items as { data: Json[] }).data;
      const price = { ...(item?.price as Json), product: `prod_${plan ?? "pro"}`, id: `price_${plan ?? "pro"}` };
      return { ...whole, items: { object: "list", data: [{ ...item, price }] } };
    };
    await sendStripe(event("customer.subscription.created", object()));
    clock.advance(5_000);
    const created = nowSeconds();
    const changeOf = (before: Json, after: Json) => {
      const [old, now] = [object(before), object(after)] as Json[];
      const changed = Object.entries(old ?? {}).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(now?.[name]),
      );
      const previous_attributes = Object.fromEntries(changed);
      return event("customer.subscription.updated", now ?? {}, { created, previous_attributes });
    };
    const events = [changeOf({}, first), changeOf(first, second)];
    for (const one of isReversed ? events.toReversed() : events) {
      clock.advance(10);
      expect((await sendStripe(one))[0]).toBe(200);
    }
    expect(await statusOf(ann)).toMatchObject(expected);
  },
);

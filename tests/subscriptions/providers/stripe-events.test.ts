import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { answerOf, get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, withContext } from "@/tests/support/context";
import { statusOf, storedEvent } from "@/tests/support/subscriptions/billing";
import { sendStripe } from "@/tests/support/subscriptions/deliver-with";
import { reconcile } from "@/tests/support/subscriptions/operator-actions";
import type { Json } from "@/tests/support/subscriptions/providers";
import { send } from "@/tests/support/subscriptions/revenuecat";
import { entitlement, startStripe } from "@/tests/support/subscriptions/stripe-api";

const stripe = await startStripe();
afterAll(() => stripe.close());

let ann: TestAccount;
beforeEach(async () => {
  ann = await newAccount();
  stripe.requests.length = 0;
  stripe.respondWith();
});

const withKey = <T>(run: () => Promise<T>) => withContext({ billing: stripe.apis() }, run);

/** "The Event object" of API v2, about an object of v1. */
const thin = (type: string, object: Json, fields: Json = {}): Json => ({
  id: `evt_test_${randomUUID().replaceAll("-", "")}`,
  object: "v2.core.event",
  type: `v1.${type}`,
  livemode: true,
  created: clock.now().toISOString(),
  related_object: { id: object.id, type: object.object, url: `/v1/subscriptions/${object.id}` },
  ...fields,
});

describe("a thin event", () => {
  test("is its snapshot event, which may be delivered too", async () => {
    const { event, subscription } = stripe.subscribe(ann.id);
    const sent = thin("customer.subscription.created", subscription, { snapshot_event: event.id });
    expect(await withKey(() => sendStripe(sent))).toEqual([200, { status: "processed", eventId: event.id }]);
    expect(await statusOf(ann)).toMatchObject({ status: "active", entitlements: [{ id: "pro", isActive: true }] });
    expect(await sendStripe(event)).toEqual([200, { status: "duplicate", eventId: event.id }]);
  });

  test("without one has its object as it is now, whatever was delivered before", async () => {
    const { event, subscription } = stripe.subscribe(ann.id);
    await sendStripe(event);
    clock.advance(60_000);
    const canceled = stripe.change(subscription.id, {
      status: "canceled",
      ended_at: Math.floor(clock.now().getTime() / 1000),
    });
    clock.advance(60_000);
    const sent = thin("customer.subscription.updated", subscription, { created: event.created });
    expect(await withKey(() => sendStripe({ ...sent, created: clock.now().toISOString() }))).toMatchObject([
      200,
      { status: "processed" },
    ]);
    expect(await statusOf(ann)).toMatchObject({ status: "expired" });
    expect(await withKey(() => sendStripe(canceled))).toMatchObject([200, { status: "processed" }]);
    expect(await statusOf(ann)).toMatchObject({ status: "expired" });
  });

  test("is refused until its object can be fetched, so that Stripe delivers it again", async () => {
    const { subscription } = stripe.subscribe(ann.id);
    const sent = thin("customer.subscription.created", subscription);
    expect(await sendStripe(sent)).toMatchObject([409, { code: "billing_api_not_configured" }]);
    for (const status of [429, 500]) {
      stripe.respondWith((response) => {
        send(response, status, {});
        return true;
      });
      expect(await withKey(() => sendStripe(sent))).toMatchObject([503, { code: "unavailable" }]);
    }
    stripe.respondWith();
    expect(await statusOf(ann)).toMatchObject({ status: "none" });
    expect(await withKey(() => sendStripe(sent))).toMatchObject([200, { status: "processed" }]);
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
  });

  test("of another kind, about an unknown object or elsewhere is ignored", async () => {
    const ping = thin(
      "",
      { id: "ed_1", object: "v2.core.event_destination" },
      { type: "v2.core.event_destination.ping" },
    );
    const gone = thin("customer.subscription.updated", { id: "sub_gone", object: "subscription" });
    const elsewhere = thin(
      "customer.subscription.updated",
      { id: "sub_1" },
      { related_object: { id: "sub_1", url: "https://elsewhere.example/" } },
    );
    for (const sent of [ping, gone, elsewhere])
      expect(await withKey(() => sendStripe(sent))).toMatchObject([200, { status: "ignored" }]);
    expect(stripe.requests.map(({ pathname }) => pathname)).toEqual(["/v1/subscriptions/sub_gone"]);
  });
});

describe("Stripe's own entitlements", () => {
  /** "The Active Entitlement Summary object". */
  const summary = (customer: unknown, keys: string[], previous?: string[]) => {
    const list = (all: string[]) => ({
      object: "list",
      data: all.slice(0, 10).map(entitlement),
      has_more: all.length > 10,
    });
    const object = {
      object: "entitlements.active_entitlement_summary",
      customer,
      livemode: true,
      entitlements: list(keys),
    };
    const fields = previous ? { previous_attributes: { entitlements: list(previous) } } : {};
    return stripe.record("entitlements.active_entitlement_summary.updated", object, fields);
  };
  const unmapped = {
    items: {
      object: "list",
      data: [
        {
          id: "si_1",
          current_period_start: 1,
          current_period_end: 4e9,
          price: { id: "price_own", product: "prod_own", metadata: {} },
        },
      ],
    },
  };
  const entitlementsOf = async () =>
    ((await statusOf(ann)).entitlements as Json[]).flatMap(({ id, isActive }) => (isActive ? id : []));

  test("are those of the customer's subscriptions, in whichever order the events arrive", async () => {
    const { event, subscription } = stripe.subscribe(ann.id, unmapped);
    const first = summary(subscription.customer, ["chat"], []);
    const second = summary(subscription.customer, ["chat", "export"], ["chat"]);
    for (const one of [second, first, event])
      expect(await sendStripe(one)).toMatchObject([200, { status: "processed" }]);
    expect(await entitlementsOf()).toEqual(["chat", "export"]);
    expect(await statusOf(ann)).toMatchObject({
      status: "active",
      isLifetime: false,
      productId: "prod_own",
      subscriptions: [{}],
    });
    clock.advance(60_000);
    await sendStripe(summary(subscription.customer, ["chat"], ["chat", "export"]));
    expect(await entitlementsOf()).toEqual(["chat"]);
    clock.advance(60_000);
    await sendStripe(summary(subscription.customer, [], ["chat"]));
    expect(await entitlementsOf()).toEqual([]);
    expect((await storedEvent(second.id))?.payload).not.toHaveProperty("data.object.entitlements.data.0.feature");
  });

  test("do not count for a customer whose product is in BILLING_PRODUCTS", async () => {
    const { event, subscription } = stripe.subscribe(ann.id);
    for (const one of [event, summary(subscription.customer, ["chat"])]) await sendStripe(one);
    expect(await entitlementsOf()).toEqual(["pro"]);
  });

  test("of two customers of one account are all given, in whichever order they arrive", async () => {
    for (const inOrder of [(all: Json[]) => all, (all: Json[]) => all.toReversed()]) {
      ann = await newAccount();
      const [one, other] = [stripe.subscribe(ann.id, unmapped), stripe.subscribe(ann.id, unmapped)];
      const summaries = [
        summary(one.subscription.customer, ["chat"]),
        summary(other.subscription.customer, ["export"]),
      ];
      for (const event of [one.event, other.event, ...inOrder(summaries)])
        expect(await sendStripe(event)).toMatchObject([200, { status: "processed" }]);
      expect(await entitlementsOf()).toEqual(["chat", "export"]);
    }
  });

  test("count for a subscription of now, whatever else BILLING_PRODUCTS has given the customer", async () => {
    const { customer } = stripe.subscribe(ann.id).subscription;
    const ended = stripe.subscribe(ann.id, { customer });
    const gone = { status: "canceled", ended_at: Math.floor(clock.now().getTime() / 1000) };
    await sendStripe(ended.event);
    const session = { id: `cs_${randomUUID()}`, object: "checkout.session", mode: "payment", payment_status: "paid" };
    const once = { ...session, customer, client_reference_id: ann.id, metadata: { productId: "price_pro" } };
    const current = stripe.subscribe(ann.id, { ...unmapped, customer });
    for (const one of [stripe.record("checkout.session.completed", once), current.event, summary(customer, ["chat"])])
      await sendStripe(one);
    expect(await entitlementsOf()).toEqual(["pro"]);
    clock.advance(60_000);
    await sendStripe(stripe.change(ended.subscription.id, gone, "customer.subscription.deleted"));
    expect(await entitlementsOf()).toEqual(["chat", "pro"]);
  });

  test("are those of the snapshot event that a thin event names, although its object has no path", async () => {
    const { event, subscription } = stripe.subscribe(ann.id, unmapped);
    const changed = summary(subscription.customer, ["chat"]);
    const related_object = {
      id: null,
      type: "entitlements.active_entitlement_summary",
      url: "/v1/entitlements?customer=cus",
    };
    const sent = thin(changed.type, {}, { snapshot_event: changed.id, related_object });
    await sendStripe(event);
    expect(await withKey(() => sendStripe(sent))).toEqual([200, { status: "processed", eventId: changed.id }]);
    expect(await entitlementsOf()).toEqual(["chat"]);
  });

  test("are all fetched of a summary that lists only ten", async () => {
    const { event, subscription } = stripe.subscribe(ann.id, unmapped);
    const keys = Array.from({ length: 12 }, (_, i) => `key_${String(i).padStart(2, "0")}`);
    const changed = summary(subscription.customer, keys, keys.slice(0, 11));
    stripe.entitlements.set(String(subscription.customer), keys);
    await sendStripe(event);
    expect(await sendStripe(changed)).toMatchObject([409, { code: "billing_api_not_configured" }]);
    stripe.respondWith((response) => {
      send(response, 500, {});
      return true;
    });
    expect(await withKey(() => sendStripe(changed))).toMatchObject([503, { code: "unavailable" }]);
    stripe.respondWith();
    expect(await withKey(() => sendStripe(changed))).toEqual([200, { status: "processed", eventId: changed.id }]);
    expect(await entitlementsOf()).toEqual(keys);
    clock.advance(60_000);
    const later = summary(subscription.customer, keys.slice(0, 11), keys);
    stripe.entitlements.set(String(subscription.customer), keys.slice(0, 11));
    await withKey(() => sendStripe(thin(later.type, {}, { snapshot_event: later.id, related_object: null })));
    expect(await entitlementsOf()).toEqual(keys.slice(0, 11));
  });

  test("say why a customer has access, and leave no product without an entitlement", async () => {
    const { token } = await accountWithRole("support");
    const { event, subscription } = stripe.subscribe(ann.id, unmapped);
    for (const one of [event, summary(subscription.customer, ["chat"])]) await sendStripe(one);
    const { body } = await answerOf(await get(`/api/admin/accounts/${ann.id}/access?entitlement=chat`, { token }));
    expect(body.reasons).toMatchObject([{ code: "subscription", text: expect.stringContaining("prod_own") }]);
    const listed = await answerOf(await get("/api/admin/billing/products", { token }));
    expect(listed.body.products).toContainEqual(
      expect.objectContaining({ productId: "prod_own", withoutEntitlement: 0 }),
    );
  });

  test("are compared with Stripe when an operator reconciles the account", async () => {
    const { event, subscription } = stripe.subscribe(ann.id, unmapped);
    for (const one of [event, summary(subscription.customer, ["chat"])]) await sendStripe(one);
    clock.advance(60_000);
    const run = () => withKey(async () => (await reconcile(stripe.apis(), ann.id)).customers);
    stripe.entitlements.set(String(subscription.customer), ["chat", "export"]);
    expect((await run()).map(({ corrected }) => corrected).toSorted()).toEqual([0, 1]);
    expect(await entitlementsOf()).toEqual(["chat", "export"]);
    clock.advance(60_000);
    expect((await run()).map(({ corrected }) => corrected)).toEqual([0, 0]);
  });
});

import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { DAY_MS, statusOf } from "@/tests/support/subscriptions/billing";
import { startProvider, withKeys } from "@/tests/support/subscriptions/billing-sources";
import { deliverWith } from "@/tests/support/subscriptions/deliver-with";
import { reconcile as reconcileWith } from "@/tests/support/subscriptions/operator-actions";
import {
  answerOf,
  fakeAppStore,
  fakePaddle,
  fakeStripe,
  type Webhook,
} from "@/tests/support/subscriptions/provider-api";
import { send } from "@/tests/support/subscriptions/revenuecat";

const provider = await startProvider();
afterAll(() => provider.close());

const create = () => ({ stripe: fakeStripe(), paddle: fakePaddle(), appStore: fakeAppStore() });
let fakes = create();
let ann: TestAccount;
beforeEach(async () => {
  fakes = create();
  ann = await newAccount();
  provider.requests.length = 0;
  const answer = answerOf(fakes);
  provider.respond((_, response, request) => {
    const { status, body, headers } = answer(request);
    send(response, status, body, headers);
  });
});

const reconcile = ({ id }: TestAccount) =>
  withKeys(provider.url, async () => (await reconcileWith(ctx().billing, id)).customers);
const deliver = async (webhooks: Webhook[]) => {
  for (const webhook of webhooks) {
    const { body, headers } = webhook();
    expect((await deliverWith(body, headers))[0]).toBe(200);
  }
  clock.advance(1000);
};

describe.each(["paddle", "appStore"] as const)("%s", (name) => {
  /** A purchase whose first webhook has arrived. */
  const bought = async (kind: "subscribe" | "buy") => {
    const { id, webhooks } = fakes[name][kind](ann.id, 30 * DAY_MS);
    await deliver(webhooks);
    return id;
  };

  test("a repetition, and a webhook that arrives after the answer, change nothing", async () => {
    const id = await bought("subscribe");
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0, failure: null }]);
    const late = fakes[name].change.upgrade(id);
    clock.advance(1000);
    late.push(...fakes[name].change.cancel(id));
    clock.advance(1000);
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 1 }]);
    const { canceledAt, currentPeriodStartsAt, currentPeriodEndsAt } = await statusOf(ann);
    const entitlements = fakes[name].premium.map((id) => ({ id, isActive: true }));
    const expected = { status: "canceled", isActive: true, currentPeriodStartsAt, currentPeriodEndsAt, entitlements };
    expect(await statusOf(ann)).toMatchObject(expected);
    clock.advance(1000);
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0 }]);
    await deliver(late.reverse());
    const after = await statusOf(ann);
    expect(after).toMatchObject(expected);
    // The webhook knows better when that was.
    expect(Date.parse(String(after.canceledAt))).toBeLessThan(Date.parse(String(canceledAt)));
  });

  test("a payment that stays due keeps its first grace period, and a canceled subscription the time of it", async () => {
    const id = await bought("subscribe");
    await deliver(fakes[name].change.cancel(id));
    const { canceledAt } = await statusOf(ann);
    fakes[name].change.fail(id);
    clock.advance(1000);
    await reconcile(ann);
    const { gracePeriodEndsAt, status, billingIssueDetectedAt } = await statusOf(ann);
    expect(status).toBe(fakes[name].unpaid.status);
    clock.advance(DAY_MS);
    fakes[name].change.upgrade(id);
    clock.advance(1000);
    fakes[name].change.fail(id);
    clock.advance(1000);
    expect(await reconcile(ann)).toMatchObject([{ corrected: 1 }]);
    const { billingIssueDetectedAt: since, ...after } = await statusOf(ann);
    expect(after).toMatchObject({ gracePeriodEndsAt, canceledAt });
    // At the App Store an upgrade is paid for at once: another payment is due then.
    expect(since === billingIssueDetectedAt).toBe(name === "paddle");
  });

  test("a refund and its reversal are seen at a purchase that does not renew", async () => {
    const id = await bought("buy");
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0 }]);
    const late = fakes[name].refund(id);
    clock.advance(1000);
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 1 }]);
    expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
    late.push(...fakes[name].reverseRefund(id));
    clock.advance(1000);
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 1 }]);
    expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true, refundedAt: null });
    await deliver(late);
    expect(await statusOf(ann)).toMatchObject({ status: "active", isLifetime: true, refundedAt: null });
    expect(await reconcile(ann)).toMatchObject([{ known: 1, corrected: 0 }]);
  });

  test("what the provider knows of a deleted account brings nothing of it back", async () => {
    const id = await bought("subscribe");
    const { password, token } = ann;
    expect((await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token })).status).toBe(200);
    fakes[name].change.cancel(id);
    clock.advance(1000);
    await withKeys(provider.url, () => reconcileWith(ctx().billing));
    const where = { originalTransactionId: id };
    const stored = await ctx().db.purchase.findFirstOrThrow({ where, include: { events: true } });
    expect(stored.unsubscribedAt).not.toBeNull();
    expect(JSON.stringify(stored)).not.toContain(ann.id);
  });

  test("a purchase that the provider does not know stays as it is", async () => {
    await bought("subscribe");
    await bought("buy");
    fakes = create();
    provider.respond((_, response, request) => {
      const { status, body, headers } = answerOf(fakes)(request);
      send(response, status, body, headers);
    });
    expect(await reconcile(ann)).toMatchObject([
      { known: 0, failure: null },
      { known: 0, failure: null },
    ]);
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
  });
});

test.each([
  ["which was refunded before", ["refund", "chargeback", "chargeback_reverse"], "revoked"],
  ["which was refunded after", ["chargeback", "chargeback_reverse", "refund"], "revoked"],
  ["which was charged back again", ["chargeback", "chargeback_reverse", "second chargeback"], "revoked"],
  ["which was not refunded", ["chargeback", "chargeback_reverse"], "active"],
])("a reversed chargeback of a Paddle transaction, %s, takes nothing back", async (_, actions, status) => {
  await deliver(fakes.paddle.buy(ann.id).webhooks);
  const startMs = clock.now().getTime();
  const updatedAt = (i: number) => new Date(startMs + i).toISOString();
  const adjustments = actions.map((action, i) => ({
    id: `adj_${i}`,
    action: action.replace("second ", ""),
    type: "full",
    status: action === "chargeback" ? "reversed" : "approved",
    updated_at: updatedAt(action === "chargeback" ? actions.indexOf("chargeback_reverse") : i),
  }));
  clock.advance(1000);
  const answer = answerOf(fakes);
  provider.respond((_, response, request) => {
    const { body } = answer(request);
    const { data } = body as { data: object };
    send(response, 200, { ...Object(body), data: { ...data, adjustments } });
  });
  expect(await reconcile(ann)).toMatchObject([{ known: 1, failure: null }]);
  const takenAt = status === "active" ? null : updatedAt(actions.findLastIndex((one) => /^(refund|second)/.test(one)));
  expect(await statusOf(ann)).toMatchObject({ status, isActive: status === "active", refundedAt: takenAt });
});

test("what Apple did not sign changes nothing, and its limit is waited for as long as it says", async () => {
  const { webhooks } = fakes.appStore.subscribe(ann.id, 30 * DAY_MS);
  await deliver(webhooks);
  const forged = { signedTransactionInfo: "a.b.c", signedRenewalInfo: "a.b.c", status: 2 };
  provider.respond(() => ({ data: [{ lastTransactions: [forged] }] }));
  expect(await reconcile(ann)).toMatchObject([
    { corrected: 0, failure: expect.stringContaining("not signed by Apple") },
  ]);
  provider.respond((_, response) => send(response, 429, {}, { "retry-after": String(Date.now() + 90_000) }));
  const { retry } = await withKeys(provider.url, () => reconcileWith(ctx().billing, ann.id));
  expect(retry?.afterSeconds).toBeGreaterThan(60);
  expect(retry?.afterSeconds).toBeLessThanOrEqual(90);
  expect(await statusOf(ann)).toMatchObject({ status: "active" });
});

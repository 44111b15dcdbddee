import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { notifyTrialEndings } from "@/lib/subscriptions/notifications/trial-endings";
import { clock, ctx } from "@/tests/support/context";
import { deliveriesOf } from "@/tests/support/push/deliveries";
import { activatedDevice, clearOutbox, deliverDue, recordingPush, sendDue } from "@/tests/support/push/push";
import { billingEvent, DAY_MS, deliverOk } from "@/tests/support/subscriptions/billing";

const HOUR_MS = DAY_MS / 24;

beforeEach(async () => {
  await ctx().db.purchase.updateMany({ data: { accountId: null } }); // what other tests have left
});

/** An account with a device, and a trial that begins now. */
async function startTrial(days: number, fields: Record<string, unknown> = {}) {
  const { account, device } = await activatedDevice();
  const now = clock.now().getTime();
  const purchase = {
    app_user_id: account.id,
    original_transaction_id: randomUUID(),
    period_type: "TRIAL",
    purchased_at_ms: now,
    expiration_at_ms: now + days * DAY_MS,
    ...fields,
  };
  await deliverOk(billingEvent("INITIAL_PURCHASE", purchase));
  const notices = async () =>
    (await deliveriesOf({ deviceId: device.id })).filter(({ kind }) => kind === "billing.trial_ending");
  return { account, device, purchase, notices };
}

async function runAfter(ms: number): Promise<void> {
  clock.advance(ms);
  await notifyTrialEndings(ctx());
}

test("an extended trial notifies its owner again, before the new end", async () => {
  const { notices, purchase } = await startTrial(7);
  await runAfter(5 * DAY_MS);
  const extended = { ...purchase, expiration_at_ms: purchase.expiration_at_ms + 14 * DAY_MS };
  await deliverOk(billingEvent("SUBSCRIPTION_EXTENDED", extended));
  await runAfter(14 * DAY_MS);
  await runAfter(HOUR_MS);
  expect((await notices()).map(({ state }) => state).sort()).toEqual(["cancelled", "queued"]);
});

test("a second trial of a purchase, a win-back offer, notifies its owner, too", async () => {
  const { notices, purchase } = await startTrial(7);
  await runAfter(5 * DAY_MS);
  clock.advance(2 * DAY_MS);
  await deliverOk(billingEvent("EXPIRATION", { ...purchase, expiration_reason: "BILLING_ERROR" }));
  clock.advance(365 * DAY_MS);
  const now = clock.now().getTime();
  const again = { ...purchase, purchased_at_ms: now, expiration_at_ms: now + 7 * DAY_MS };
  await deliverOk(billingEvent("RENEWAL", again));
  await runAfter(5 * DAY_MS);
  expect(await notices()).toHaveLength(2);
});

test("a trial that will renew notifies its owner three days before it ends, once, until it ends", async () => {
  const { notices, purchase } = await startTrial(14);
  await runAfter(11 * DAY_MS - HOUR_MS);
  expect(await notices()).toEqual([]);
  clock.advance(2 * HOUR_MS);
  await Promise.all([notifyTrialEndings(ctx()), notifyTrialEndings(ctx())]);
  await runAfter(DAY_MS);
  const [notice, ...others] = await notices();
  expect(others).toEqual([]);
  expect(notice).toMatchObject({
    priority: 10,
    payload: { aps: { alert: { "title-loc-key": "billing.trial_ending.title" } }, data: { link: "subscription" } },
  });
  expect(Math.abs((notice?.expiresAt.getTime() ?? 0) - purchase.expiration_at_ms)).toBeLessThan(10_000);
});

test.each([
  [7, 4],
  [5, 2.5],
])("a trial of %d days notifies its owner after %d", async (days, after) => {
  const { notices } = await startTrial(days);
  await runAfter(after * DAY_MS - HOUR_MS);
  expect(await notices()).toEqual([]);
  await runAfter(2 * HOUR_MS);
  expect(await notices()).toHaveLength(1);
});

test("a trial that will not renew, gives no access, is over or is none notifies nobody", async () => {
  const canceled = await startTrial(7);
  await deliverOk(billingEvent("CANCELLATION", { ...canceled.purchase, cancel_reason: "UNSUBSCRIBE" }));
  const sandbox = await startTrial(7, { environment: "SANDBOX" });
  const paid = await startTrial(7, { period_type: "NORMAL" });
  const over = await startTrial(3);
  await runAfter(4 * DAY_MS + HOUR_MS);
  for (const { notices } of [canceled, sandbox, paid, over]) expect(await notices()).toEqual([]);
});

test("a cancellation that is taken back notifies the owner then", async () => {
  const { notices, purchase } = await startTrial(7);
  await deliverOk(billingEvent("CANCELLATION", { ...purchase, cancel_reason: "UNSUBSCRIBE" }));
  await runAfter(5 * DAY_MS);
  await deliverOk(billingEvent("UNCANCELLATION", purchase));
  await notifyTrialEndings(ctx());
  expect(await notices()).toHaveLength(1);
});

test.each([
  ["is canceled", "CANCELLATION", { cancel_reason: "UNSUBSCRIBE" }, 0],
  ["is extended", "SUBSCRIPTION_EXTENDED", {}, 30],
  ["is converted", "RENEWAL", { period_type: "NORMAL" }, 30],
])("a notification that waits is canceled when the trial %s", async (_, type, fields, daysMore) => {
  const { notices, purchase } = await startTrial(7);
  const other = await startTrial(7);
  await runAfter(5 * DAY_MS);
  expect([await notices(), await other.notices()]).toMatchObject([[{ state: "queued" }], [{ state: "queued" }]]);
  const end = purchase.expiration_at_ms + daysMore * DAY_MS;
  await deliverOk(billingEvent(type, { ...purchase, expiration_at_ms: end, ...fields }));
  expect([await notices(), await other.notices()]).toMatchObject([
    [{ state: "cancelled", reason: "outdated" }],
    [{ state: "queued" }],
  ]);
});

test.each([
  ["not sent again", "", 0],
  ["sent again once the trial renews again", "UNCANCELLATION", 1],
])("a notification that fails while the trial is canceled is %s", async (_, type, sent) => {
  const { notices, purchase } = await startTrial(7);
  await clearOutbox();
  await runAfter(5 * DAY_MS);
  const { push } = recordingPush(async () => {
    await deliverOk(billingEvent("CANCELLATION", { ...purchase, cancel_reason: "UNSUBSCRIBE" }));
    return { status: 500, reason: "InternalServerError" };
  });
  await deliverDue({ push });
  if (type) await deliverOk(billingEvent(type, purchase));
  await runAfter(HOUR_MS);
  expect(await sendDue()).toHaveLength(sent);
  const outcome = sent ? { state: "sent" } : { state: "cancelled", reason: "outdated", attempts: 1 };
  expect(await notices()).toMatchObject([outcome]);
});

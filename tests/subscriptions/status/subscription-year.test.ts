import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock } from "@/tests/support/context";
import { billingEvent, DAY_MS, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";

const MONTH_DAYS = 30;

/** Signs in where the session is over by now, and tells what a client would decide by. */
async function seenBy({ email, password }: TestAccount) {
  const response = await post("/api/auth/login", { email, password });
  const { token } = (await response.json()) as { token: string };
  const { status, isActive, willRenew, stale, productId, pendingProductId } = await statusOf({ token });
  return { status, isActive, willRenew, stale, productId, pendingProductId };
}

test("a year of a subscription: the status is right at every step", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const start = clock.now().getTime();
  const purchase = {
    app_user_id: ann.id,
    original_transaction_id: randomUUID(),
    product_id: "monthly",
    store: "PLAY_STORE",
  };
  let today = start;
  let period = { purchased_at_ms: start, expiration_at_ms: start + 7 * DAY_MS };

  /** Goes to a minute after midnight of a day: however slow the machine is, what ends that day has ended. */
  const onDay = (day: number) => {
    today = start + day * DAY_MS;
    clock.advance(today + 60_000 - clock.now().getTime());
  };
  const hear = (type: string, fields: Record<string, unknown> = {}) =>
    deliverOk(billingEvent(type, { ...purchase, ...period, ...fields }));
  /** A period of so many days begins today. */
  const begin = async (type: string, days: number, fields: Record<string, unknown> = {}) => {
    period = { purchased_at_ms: today, expiration_at_ms: today + days * DAY_MS };
    await hear(type, fields);
  };
  const expectAnn = async (expected: Record<string, unknown>) => expect(await seenBy(ann)).toMatchObject(expected);
  const renewing = { status: "active", isActive: true, willRenew: true, stale: false };

  await expectAnn({ status: "none", isActive: false });

  await begin("INITIAL_PURCHASE", 7, { period_type: "TRIAL", price: 0 });
  await expectAnn({ status: "trialing", isActive: true, willRenew: true, productId: "monthly" });

  onDay(7); // the renewal is due, and its event on the way
  await expectAnn({ status: "active", isActive: true, stale: true });
  await begin("RENEWAL", MONTH_DAYS, { is_trial_conversion: true });
  await expectAnn(renewing);

  onDay(37);
  await begin("RENEWAL", MONTH_DAYS);
  await expectAnn(renewing);

  onDay(66); // the card is refused, a day before the end
  const grace = { grace_period_expiration_at_ms: start + 74 * DAY_MS };
  await hear("BILLING_ISSUE", grace);
  await hear("CANCELLATION", { ...grace, cancel_reason: "BILLING_ERROR" });
  await expectAnn({ status: "active", isActive: true, willRenew: false });
  onDay(70);
  await expectAnn({ status: "grace_period", isActive: true });
  onDay(74);
  await expectAnn({ status: "billing_retry", isActive: false });
  onDay(76); // and is charged at last
  await begin("RENEWAL", MONTH_DAYS);
  await expectAnn(renewing);

  onDay(90); // a pause from the end of the period on
  await hear("SUBSCRIPTION_PAUSED", { auto_resume_at_ms: start + 136 * DAY_MS });
  await expectAnn({ status: "active", isActive: true, willRenew: false });
  onDay(106);
  await expectAnn({ status: "paused", isActive: false });
  await hear("EXPIRATION", { expiration_reason: "SUBSCRIPTION_PAUSED" });
  await expectAnn({ status: "paused", isActive: false });
  onDay(136);
  await begin("RENEWAL", MONTH_DAYS);
  await expectAnn(renewing);

  onDay(140); // another product from the next period on
  await hear("PRODUCT_CHANGE", { new_product_id: "yearly" });
  await expectAnn({ ...renewing, productId: "monthly", pendingProductId: "yearly" });

  onDay(150); // second thoughts, and third ones
  await hear("CANCELLATION", { cancel_reason: "UNSUBSCRIBE" });
  await expectAnn({ status: "canceled", isActive: true, willRenew: false });
  await hear("UNCANCELLATION", { event_timestamp_ms: clock.now().getTime() + 1 });
  await expectAnn({ ...renewing, pendingProductId: "yearly" });
  onDay(155);
  await hear("CANCELLATION", { cancel_reason: "UNSUBSCRIBE" });
  await hear("SUBSCRIPTION_EXTENDED", { expiration_at_ms: start + 170 * DAY_MS });
  onDay(169);
  await expectAnn({ status: "canceled", isActive: true });
  onDay(170);
  await expectAnn({ status: "expired", isActive: false, stale: false });
  await hear("EXPIRATION", { expiration_at_ms: start + 170 * DAY_MS, expiration_reason: "UNSUBSCRIBE" });
  await expectAnn({ status: "expired", isActive: false });

  onDay(200); // back again, for a year
  await begin("INITIAL_PURCHASE", 365, { product_id: "yearly" });
  await expectAnn({ ...renewing, productId: "yearly", pendingProductId: null });

  onDay(205); // a part of the money goes back, and the subscription goes on
  const refund = { cancel_reason: "CUSTOMER_SUPPORT", price: -59.99, product_id: "yearly" };
  await hear("CANCELLATION", refund);
  await expectAnn({ ...renewing, productId: "yearly" });
  onDay(210); // all of it goes back, and that was a mistake
  await hear("CANCELLATION", { ...refund, expiration_at_ms: today });
  await expectAnn({ status: "revoked", isActive: false, willRenew: false });
  onDay(212);
  await hear("REFUND_REVERSED", { product_id: "yearly" });
  await expectAnn({ ...renewing, productId: "yearly" });

  onDay(300); // it goes to Bob, for good
  const transferred = { transferred_from: [ann.id], transferred_to: [bob.id], app_user_id: undefined };
  await deliverOk(billingEvent("TRANSFER", { ...transferred, store: "PLAY_STORE" }));
  await expectAnn({ status: "none", isActive: false });
  expect(await seenBy(bob)).toMatchObject({ ...renewing, productId: "yearly" });

  onDay(566); // a year after: nobody says that it was renewed
  expect(await seenBy(bob)).toMatchObject({ status: "expired", isActive: false });
});

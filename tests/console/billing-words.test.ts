import { expect, test } from "vitest";
import { describePurchase, describeStatus } from "@/app/(web)/account/subscription";
import { describeAccess } from "@/app/console/billing/access";
import { describeReason } from "@/app/console/billing/event-columns";
import type { PurchaseTimeline } from "@/lib/subscriptions/admin/schema";
import { LASTING_REASONS } from "@/lib/subscriptions/inbox/decide";
import type { SubscriptionStatus } from "@/lib/subscriptions/schema";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { billingEvent, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";

/** Buys a product for a new account, and returns what the console's page of the purchase says of the access that it gives. */
async function wordsAfter(fields: Record<string, unknown>) {
  const { token } = await accountWithRole("support");
  const account = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, ...fields }));
  return { accountId: account.id, words: await wordsOf(account.id, token) };
}

async function wordsOf(accountId: string, token: string) {
  const purchase = await ctx().db.purchase.findFirstOrThrow({ where: { accountId } });
  const timeline = await get(`/api/admin/billing/purchases/${purchase.id}`, { token });
  return describeAccess(((await timeline.json()) as PurchaseTimeline).status);
}

test("a purchase of a product without entitlements is not said to give access", async () => {
  expect((await wordsAfter({ entitlement_ids: ["pro"] })).words).toBe("It gives access now.");
  const sentence = "It is active, but gives no entitlement: its product is mapped to none.";
  expect((await wordsAfter({ entitlement_ids: null })).words).toBe(sentence);
});

test("a purchase that would count in production is said not to count because of its environment", async () => {
  const sandbox = await wordsAfter({ environment: "SANDBOX" });
  expect(sandbox.words).toMatch(/^It gives no access: it is a sandbox purchase, .*BILLING_SANDBOX_TESTERS/);
  expect((await wordsAfter({ environment: null })).words).toMatch(/^It gives no access: its environment is unknown/);
  const ended = { purchased_at_ms: 0, expiration_at_ms: 1_000, environment: "SANDBOX" };
  expect((await wordsAfter(ended)).words).toBe("It gives no access now.");
  await withContext({ config: { BILLING_SANDBOX_ENTITLES: true } }, async () => {
    const { token } = await accountWithRole("support");
    expect(await wordsOf(sandbox.accountId, token)).toBe("It gives access now.");
  });
});

test("its owner reads that a purchase of the sandbox gives no access", async () => {
  const account = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, environment: "SANDBOX" }));
  const status = (await statusOf(account)) as unknown as SubscriptionStatus;
  expect(describeStatus(status, "en")).toBe("You have no subscription.");
  const [purchase] = status.subscriptions;
  expect(purchase && describePurchase(purchase, "en")).toBe("A test purchase, which gives no access.");
});

test("the guide says what each reason means and what to do", async () => {
  const reasons = ["type_not_applied", "nothing_to_change", "grant_without_end", "names_several_accounts"];
  for (const reason of [...LASTING_REASONS, ...reasons]) {
    expect(await describeReason(reason)).toMatch(/^[A-Z][^`|]+\. [A-Z][^`|]+\.$/);
  }
  expect(await describeReason("transaction_not_named")).toContain("Reconcile the customer");
  expect(await describeReason("nothing_to_change")).toContain("There is nothing to do.");
  expect(await describeReason("of_a_later_version")).toBe("of_a_later_version");
});

import { expect, test } from "vitest";
import { describePurchase, describeStatus } from "@/app/(web)/account/subscription";
import { bestOf, describeAccess } from "@/app/console/billing/access";
import { describeReason } from "@/app/console/billing/event-columns";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import type { PurchaseTimeline } from "@/lib/subscriptions/admin/schema";
import { LASTING_REASONS } from "@/lib/subscriptions/inbox/decide";
import type { SubscriptionStatus } from "@/lib/subscriptions/schema";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { billingEvent, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";

/** Buys a product for a new account, and returns what the console's pages say of the access that it gives. */
async function wordsAfter(fields: Record<string, unknown>) {
  const { token } = await accountWithRole("support");
  const account = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, ...fields }));
  return wordsOf(account.id, token);
}

async function wordsOf(accountId: string, token: string) {
  const purchase = await ctx().db.purchase.findFirstOrThrow({ where: { accountId } });
  const timeline = await get(`/api/admin/billing/purchases/${purchase.id}`, { token });
  const account = await get(`/api/admin/accounts/${accountId}`, { token });
  const { purchases } = (await account.json()) as AccountDetails;
  const best = bestOf(purchases);
  return {
    accountId,
    purchase: describeAccess(((await timeline.json()) as PurchaseTimeline).status),
    account: best && describeAccess(best),
  };
}

test("a purchase of a product without entitlements is not said to give access", async () => {
  const mapped = await wordsAfter({ entitlement_ids: ["pro"] });
  expect([mapped.purchase, mapped.account]).toEqual(["It gives access now.", "It gives access now."]);
  const unmapped = await wordsAfter({ entitlement_ids: null });
  const sentence = "It is active, but gives no entitlement: its product is mapped to none.";
  expect([unmapped.purchase, unmapped.account]).toEqual([sentence, sentence]);
});

test("a purchase that would count in production is said not to count because of its environment", async () => {
  const sandbox = await wordsAfter({ environment: "SANDBOX" });
  expect(sandbox.purchase).toMatch(/^It gives no access: it is a sandbox purchase, .*BILLING_SANDBOX_TESTERS/);
  expect(sandbox.account).toBe(sandbox.purchase);
  expect((await wordsAfter({ environment: null })).purchase).toMatch(/^It gives no access: its environment is unknown/);
  const ended = { purchased_at_ms: 0, expiration_at_ms: 1_000, environment: "SANDBOX" };
  expect((await wordsAfter(ended)).purchase).toBe("It gives no access now.");
  await withContext({ config: { BILLING_SANDBOX_ENTITLES: true } }, async () => {
    const { token } = await accountWithRole("support");
    expect((await wordsOf(sandbox.accountId, token)).purchase).toBe("It gives access now.");
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

test("of an account's purchases, the one that gives most is described", async () => {
  const { accountId } = await wordsAfter({ entitlement_ids: null });
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: accountId, environment: "SANDBOX" }));
  const { token } = await accountWithRole("support");
  expect((await wordsOf(accountId, token)).account).toMatch(/^It is active, but gives no entitlement/);
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: accountId }));
  expect((await wordsOf(accountId, token)).account).toBe("It gives access now.");
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

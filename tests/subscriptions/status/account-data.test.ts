import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { listStoreSubscriptions } from "@/lib/subscriptions/status/read-status";
import { newAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import { billingEvent, deliverOk, initialPurchase, statusOf } from "@/tests/support/subscriptions/billing";

test("subscriptions that the store may still charge for are listed with the URL to cancel them", async () => {
  const { id } = await newAccount();
  const event = initialPurchase(id);
  await deliverOk(event);
  await deliverOk(billingEvent("NON_RENEWING_PURCHASE", { app_user_id: id, expiration_at_ms: null }));
  await deliverOk(billingEvent("EXPIRATION", { app_user_id: id, expiration_reason: "UNSUBSCRIBE" }));
  expect(await listStoreSubscriptions(ctx(), id)).toEqual([
    {
      store: "APP_STORE",
      status: "active",
      expiresAt: new Date(event.expiration_at_ms as number),
      managementUrl: "https://apps.apple.com/account/subscriptions",
    },
  ]);
});

test("a deletion removes the account's data from its billing history and keeps the rest", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const shared = { app_user_id: ann.id, aliases: ["ann@example.com"], original_transaction_id: randomUUID() };
  await deliverOk(billingEvent("INITIAL_PURCHASE", shared));
  await deliverOk(billingEvent("TEST", { app_user_id: ann.id }));
  await deliverOk(
    billingEvent("RENEWAL", { ...shared, app_user_id: "$RCAnonymousID:1", aliases: ["ann@example.com"] }),
  );
  const bobs = billingEvent("INITIAL_PURCHASE", { app_user_id: bob.id, aliases: [ann.id, "bob@example.com"] });
  await deliverOk(bobs);
  await ctx().db.$transaction(async (tx) => {
    await anonymizeBilling(tx, ann.id);
    await tx.account.delete({ where: { id: ann.id } });
  });
  const events = await ctx().db.billingEvent.findMany({ include: { purchase: true } });
  const everything = JSON.stringify(events);
  expect(everything).not.toContain(ann.id);
  expect(everything).not.toContain("ann@example.com");
  const left = events.filter((event) => event.originalTransactionId === shared.original_transaction_id);
  expect(left).toHaveLength(2);
  expect(left[0]).toMatchObject({ payload: null, facts: { productId: "com.example.pro.monthly" } });
  expect(left[0]?.purchase).toMatchObject({
    accountId: null,
    appUserIds: [expect.stringMatching(/^deleted:/)],
    productId: "com.example.pro.monthly",
  });
  expect(events.find(({ eventId }) => eventId === bobs.id)).toMatchObject({
    accountId: bob.id,
    appUserIds: expect.arrayContaining([bob.id, expect.stringMatching(/^sha256:/)]),
  });
  expect(await statusOf(bob)).toMatchObject({ isActive: true });
});

import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock } from "@/tests/support/context";
import { examplesOf } from "@/tests/support/guide";
import { billingEvent, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";

test("the guide's example of a status is what the service returns", async () => {
  const { checkedAt, ...example } = JSON.parse(examplesOf("billing").get("status.json") ?? "");
  clock.advance(Date.parse(checkedAt) - clock.now().getTime());
  const account = await newAccount();
  const month = (tier: string, from: string, to: string) => ({
    app_user_id: account.id,
    original_transaction_id: tier,
    product_id: `com.example.${tier}.monthly`,
    entitlement_ids: [tier],
    event_timestamp_ms: Date.parse(from),
    purchased_at_ms: Date.parse(from),
    expiration_at_ms: Date.parse(to),
  });
  const storage = month("storage", "2026-10-01T09:00:00Z", "2026-11-01T09:00:00Z");
  await deliverOk(billingEvent("INITIAL_PURCHASE", storage));
  await deliverOk(billingEvent("EXPIRATION", { ...storage, event_timestamp_ms: Date.parse("2026-11-01T09:00:05Z") }));
  const pro = month("pro", "2026-11-20T09:00:00Z", "2026-12-20T09:00:00Z");
  await deliverOk(billingEvent("INITIAL_PURCHASE", pro));
  const change = { event_timestamp_ms: Date.parse("2026-11-21T07:00:00Z"), new_product_id: "com.example.pro.yearly" };
  await deliverOk(billingEvent("PRODUCT_CHANGE", { ...pro, ...change }));
  expect(await statusOf(account)).toMatchObject(example);
});

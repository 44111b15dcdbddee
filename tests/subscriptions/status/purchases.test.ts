import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { accountWithId, newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { billingEvent, deliverOk, initialPurchase, statusOf } from "@/tests/support/subscriptions/billing";

const PATH = "/api/subscription/purchases";

type Page = { purchases: Record<string, unknown>[]; nextCursor: string | null };

async function purchasesOf({ token }: { token: string }, query = ""): Promise<Page> {
  const response = await get(`${PATH}${query}`, { token });
  expect(response.status).toBe(200);
  return (await response.json()) as Page;
}

const coins = (appUserId: string) =>
  billingEvent("NON_RENEWING_PURCHASE", {
    app_user_id: appUserId,
    product_id: "coins",
    entitlement_ids: null,
    expiration_at_ms: null,
  });

test("coins are no subscription, and are in the list of purchases alone", async () => {
  const account = await newAccount();
  const event = coins(account.id);
  await deliverOk(event);
  const status = await statusOf(account);
  expect(status).toMatchObject({ status: "none", isActive: false, entitlements: [], subscriptions: [] });
  expect(status.lastEventAt).toBe(new Date(event.event_timestamp_ms as number).toISOString());
  expect(await purchasesOf(account)).toEqual({
    purchases: [
      expect.objectContaining({
        productId: "coins",
        status: "none",
        periodType: null,
        originalTransactionId: event.original_transaction_id,
      }),
    ],
    nextCursor: null,
  });
  await deliverOk({ ...event, id: randomUUID(), type: "CANCELLATION", cancel_reason: "CUSTOMER_SUPPORT" });
  expect(await statusOf(account)).toMatchObject({ status: "none", isActive: false, subscriptions: [] });
  expect((await purchasesOf(account)).purchases).toMatchObject([{ status: "revoked", refundedAt: expect.any(String) }]);
});

test("the list of purchases has every purchase once, newest first, in pages", async () => {
  const account = await newAccount();
  await deliverOk(initialPurchase(account.id));
  for (let i = 0; i < 3; i += 1) await deliverOk(coins(account.id));
  const [{ purchases: first, nextCursor }, whole] = [
    await purchasesOf(account, "?limit=3"),
    await purchasesOf(account),
  ];
  const rest = await purchasesOf(account, `?limit=3&cursor=${nextCursor}`);
  expect([...first, ...rest.purchases]).toEqual(whole.purchases);
  expect(whole.purchases.map(({ status }) => status)).toEqual(["none", "none", "none", "active"]);
  expect(rest.nextCursor).toBeNull();
  const { subscriptions } = await statusOf(account);
  expect(whole.purchases.at(-1)).toMatchObject({ purchaseId: subscriptions[0]?.purchaseId });
});

test("the list has purchases from before the registration, and none of another account", async () => {
  const id = randomUUID();
  await deliverOk(coins(id));
  const [late, other] = [await accountWithId(id), await newAccount()];
  expect((await purchasesOf(late)).purchases).toHaveLength(1);
  expect((await purchasesOf(other)).purchases).toEqual([]);
});

test("the list of purchases rejects a cursor of another list", async () => {
  const { token } = await newAccount();
  const cursors = ["nonsense", Buffer.from("purchase 1").toString("base64url")];
  for (const query of ["?limit=0", "?limit=201", "?limit=x", ...cursors.map((cursor) => `?cursor=${cursor}`)]) {
    const response = await get(`${PATH}${query}`, { token });
    expect([query, response.status]).toEqual([query, 400]);
  }
  const unknown = Buffer.from("purchases x").toString("base64url");
  expect((await get(`${PATH}?cursor=${unknown}`, { token })).status).toBe(200);
});

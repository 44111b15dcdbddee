import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { statusOf } from "@/tests/support/subscriptions/billing";
import { bought, send, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

const { revenueCat, withKey } = await setUpRevenueCat();
/** Runs with an API key, and with time for the provider's response, however slow the machine is. */
const withTime = (run: () => Promise<void>) =>
  withContext({ config: { BILLING_FRESH_TIMEOUT_MS: 30_000 } }, () => withKey(run));

type Status = { status: string; isFresh?: boolean };

async function freshStatusOf({ token }: { token: string }): Promise<Status> {
  const response = await get("/api/subscription/status?fresh=1", { token });
  expect(response.status).toBe(200);
  return (await response.json()) as Status;
}

/** An account that has bought something, of which only the provider knows. */
async function buyer() {
  const account = await newAccount();
  await ctx().db.session.updateMany({ where: { accountId: account.id }, data: { reconciledAt: clock.now() } });
  revenueCat.customers.set(account.id, subscriber({ monthly: bought(account).known }));
  return account;
}

test("a fresh status has a purchase whose event has not arrived", async () => {
  const account = await buyer();
  await withTime(async () => {
    const plain = await statusOf(account);
    expect([plain.status, "isFresh" in plain]).toEqual(["none", false]);
    expect(await freshStatusOf(account)).toMatchObject({ status: "active", isFresh: true });
  });
  expect(revenueCat.asked).toEqual([account.id]);
});

test("the provider gets one request for all callers of an account, and one a minute at most", async () => {
  const account = await buyer();
  await withTime(async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => freshStatusOf(account)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(["active"]));
    expect(all.some(({ isFresh }) => isFresh)).toBe(true);
    expect(revenueCat.asked).toHaveLength(1);
    expect(await freshStatusOf(account)).toMatchObject({ status: "active", isFresh: false });
    expect(revenueCat.asked).toHaveLength(1);
    clock.advance(61_000);
    expect(await freshStatusOf(account)).toMatchObject({ status: "active", isFresh: true });
    expect(revenueCat.asked).toHaveLength(2);
  });
});

test("a slow provider delays no response, and what it says is stored", async () => {
  const account = await buyer();
  const held: ServerResponse[] = [];
  revenueCat.respondWith((response) => void held.push(response));
  await withKey(async () => {
    expect(await freshStatusOf(account)).toMatchObject({ status: "none", isFresh: false });
    await expect.poll(() => held.length).toBe(1);
    const [response] = held as [ServerResponse];
    send(response, 200, { subscriber: revenueCat.customers.get(account.id) });
    await once(response, "close");
    await expect.poll(async () => (await statusOf(account)).status).toBe("active");
  });
});

test("a request to the provider that fails is repeated later, and without an API key none is sent", async () => {
  const account = await buyer();
  revenueCat.respondWith((response) => send(response, 500, {}));
  await withTime(async () => {
    expect(await freshStatusOf(account)).toMatchObject({ status: "none", isFresh: false });
  });
  expect(await ctx().db.billingReconcileJob.findMany({ omit: { nextAttemptAt: true } })).toEqual([
    { provider: "revenuecat", reference: account.id, attempts: 1 },
  ]);
  clock.advance(61_000);
  expect(await freshStatusOf(account)).toMatchObject({ status: "none", isFresh: false });
  expect(revenueCat.asked).toHaveLength(1);
});

test("no request is sent while the provider limits them", async () => {
  const [ann, bob] = [await buyer(), await buyer()];
  revenueCat.respondWith((response) => send(response, 429, {}, { "retry-after": "3600" }));
  await withTime(async () => {
    for (const account of [ann, bob]) expect(await freshStatusOf(account)).toMatchObject({ isFresh: false });
  });
  expect(revenueCat.asked).toEqual([ann.id]);
});

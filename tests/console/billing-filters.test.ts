import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { listActiveSubscriptions } from "@/lib/subscriptions/admin/list-subscriptions";
import type { BillingEventDetails, BillingEvents, PurchaseTimeline } from "@/lib/subscriptions/admin/schema";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { billingEvent, DAY_MS, deliverOk, storedEvent } from "@/tests/support/subscriptions/billing";

async function ask(query: Record<string, string>) {
  const { token } = await accountWithRole("support");
  return get(`/api/admin/billing/events?${new URLSearchParams(query)}`, { token });
}

async function list(query: Record<string, string>): Promise<BillingEvents["events"]> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return ((await response.json()) as BillingEvents).events;
}

const idsOf = (events: BillingEvents["events"]) => events.map(({ eventId }) => eventId).toSorted();

async function newCustomer() {
  const account = await newAccount();
  const purchase = { app_user_id: account.id, original_transaction_id: `original ${randomUUID()}` };
  const bought = billingEvent("INITIAL_PURCHASE", { ...purchase, transaction_id: `first ${randomUUID()}` });
  const renewed = billingEvent("RENEWAL", {
    ...purchase,
    transaction_id: `second ${randomUUID()}`,
    purchased_at_ms: clock.now().getTime(),
    expiration_at_ms: clock.now().getTime() + 60 * DAY_MS,
  });
  for (const event of [bought, renewed]) await deliverOk(event);
  return { account, bought, renewed };
}

test("events are found by the email of their account, in any case, and each names it", async () => {
  const { account, bought, renewed } = await newCustomer();
  await newCustomer();
  const found = await list({ account: ` ${account.email.toUpperCase()} ` });
  expect(idsOf(found)).toEqual([bought.id, renewed.id].toSorted());
  expect(found.map(({ accountId, accountEmail }) => [accountId, accountEmail])).toEqual([
    [account.id, account.email],
    [account.id, account.email],
  ]);
  expect(idsOf(await list({ account: account.id.toUpperCase() }))).toEqual(idsOf(found));
});

test("an email that nobody has is refused, and the id of a deleted account is not", async () => {
  const response = await ask({ account: "nobody@example.com" });
  expect([response.status, await response.json()]).toMatchObject([404, { code: "not_found" }]);
  expect((await ask({ account: "no email" })).status).toBe(400);
  const { account, bought, renewed } = await newCustomer();
  await ctx().db.account.delete({ where: { id: account.id } });
  const found = await list({ account: account.id });
  expect(idsOf(found)).toEqual([bought.id, renewed.id].toSorted());
  expect(found.map(({ accountEmail }) => accountEmail)).toEqual([null, null]);
});

test("events are found by their transaction, and all of a purchase by its original one", async () => {
  const { bought, renewed } = await newCustomer();
  const both = [bought.id, renewed.id].toSorted();
  expect(idsOf(await list({ purchase: String(bought.original_transaction_id) }))).toEqual(both);
  expect(idsOf(await list({ purchase: String(renewed.transaction_id) }))).toEqual([renewed.id]);
  expect(idsOf(await list({ purchase: (await storedEvent(bought.id))?.purchaseId ?? "" }))).toEqual(both);
  expect(idsOf(await list({ purchase: String(bought.original_transaction_id), type: "RENEWAL" }))).toEqual([
    renewed.id,
  ]);
  expect(await list({ purchase: "430001234567890" })).toEqual([]);
});

test("an event and a purchase name the email of their account and of each owner", async () => {
  const { account, bought } = await newCustomer();
  const { token } = await accountWithRole("support");
  const event = await storedEvent(bought.id);
  const read = async (path: string) => (await get(`/api/admin/billing/${path}`, { token })).json();
  const shown = (await read(`events/${event?.id}`)) as BillingEventDetails;
  expect([shown.accountEmail, shown.purchase?.accountEmail]).toEqual([account.email, account.email]);
  const { purchase, owners } = (await read(`purchases/${event?.purchaseId}`)) as PurchaseTimeline;
  expect([purchase.accountEmail, owners[0]?.accountEmail]).toEqual([account.email, account.email]);
});

test("active subscriptions name their accounts' emails, and are found by them", async () => {
  const { account } = await newCustomer();
  await newCustomer();
  const expected = [expect.objectContaining({ accountId: account.id, accountEmail: account.email })];
  for (const name of [account.email, account.id]) {
    expect((await listActiveSubscriptions(ctx(), { account: name })).subscriptions).toEqual(expected);
  }
  expect((await listActiveSubscriptions(ctx(), {})).subscriptions.length).toBeGreaterThan(1);
  await expect(listActiveSubscriptions(ctx(), { account: "nobody@example.com" })).rejects.toMatchObject({
    code: "not_found",
  });
});

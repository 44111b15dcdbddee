import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock, emptyTables } from "@/tests/support/context";
import { deliver, deliverOk, revokingRefund, statusOf } from "@/tests/support/subscriptions/billing";
import { reconcile as reconcileWith } from "@/tests/support/subscriptions/operator-actions";
import { bought, newCustomer, send, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";

const { revenueCat, billing, withKey } = await setUpRevenueCat();

/** Has the operator ask about an account; tells what came of it. */
const reconcile = ({ id }: { id: string }) => reconcileWith(billing(), id);

test.each<[string, Parameters<typeof revenueCat.respondWith>[0]]>([
  ["is down", (response) => send(response, 503, { code: 1 })],
  ["answers what is no JSON", (response) => void response.end("<html>")],
  ["answers other JSON", (response) => send(response, 200, [{ subscriber: 1 }])],
  ["answers half", (response) => void response.writeHead(200, { "content-length": 100 }).destroy()],
  ["sends elsewhere", (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end()],
])("a provider that %s delays no delivery, changes nothing and is logged", async (_, responder) => {
  const { ann, event } = await newCustomer();
  revenueCat.respondWith(responder);
  const refund = { ...event, id: randomUUID(), type: "CANCELLATION", ...revokingRefund() };
  await withKey(async () => {
    expect(await (await deliver(refund)).json()).toMatchObject({ status: "processed" });
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
    expect(await statusOf(ann)).toMatchObject({ status: "revoked" });
  });
  const failed = {
    provider: "revenuecat",
    appUserId: ann.id,
    known: 0,
    corrected: 0,
    failure: expect.stringMatching(/Error: /),
  };
  expect((await reconcile(ann)).customers).toEqual([failed]);
  expect(await statusOf(ann)).toMatchObject({ status: "revoked" });
});

test.each([
  ["0", 0],
  ["99999999999999999999", 86_400],
  ["Fri, 20 Nov 2026 12:00:00 GMT", 60],
])("a Retry-After of %s is passed on, a day at most, and no process asks before", async (given, waits) => {
  const { ann, known } = await newCustomer();
  revenueCat.respondWith((response) => send(response, 429, {}, { "retry-after": given }));
  const stopped = await reconcile(ann);
  expect(stopped).toMatchObject({
    customers: [],
    retry: { appUserId: ann.id, afterSeconds: waits },
    nextCursor: expect.any(String),
  });
  revenueCat.customers.set(ann.id, subscriber({ monthly: known }));
  revenueCat.respondWith();
  const again = () => reconcileWith(billing(), ann.id, stopped.nextCursor);
  expect(await again()).toMatchObject({ customers: [], retry: { afterSeconds: Math.max(waits, 1) } });
  expect(revenueCat.asked).toHaveLength(1);
  clock.advance(Math.max(waits, 1) * 1000);
  expect(await again()).toMatchObject({ customers: [{ appUserId: ann.id, known: 1, corrected: 0 }], nextCursor: null });
});

test("a provider that does not respond delays no delivery", async () => {
  const { ann, event } = await newCustomer();
  revenueCat.respondWith(() => {});
  await withKey(async () => {
    const refund = { ...event, id: randomUUID(), type: "CANCELLATION", cancel_reason: "CUSTOMER_SUPPORT" };
    expect((await deliver(refund)).status).toBe(200);
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
  });
  const failed = { appUserId: ann.id, failure: expect.stringContaining("is unreachable") };
  expect((await reconcile(ann)).customers).toMatchObject([failed]);
});

test("every customer is reconciled once, and a failure does not stop the others", async () => {
  await emptyTables();
  const people = [await newAccount(), await newAccount(), await newAccount()];
  for (const person of people) {
    await deliverOk(bought(person).event);
    await deliverOk(bought(person, { store: "STRIPE" }).event);
  }
  revenueCat.respondWith((response, customer) =>
    customer === people[1]?.id ? send(response, 500, {}) : send(response, 200, { subscriber: subscriber({}) }),
  );
  const { customers } = await reconcileWith(billing());
  expect(revenueCat.asked.toSorted()).toEqual(people.map(({ id }) => id).toSorted());
  expect(customers.filter(({ failure }) => failure !== null)).toMatchObject([{ appUserId: people[1]?.id }]);
});

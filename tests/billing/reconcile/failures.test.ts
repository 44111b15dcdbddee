import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { reconcileAccount, reconcileAll } from "@/lib/admin/billing/reconcile";
import { newAccount } from "@/tests/support/accounts";
import { deliver, deliverOk, revokingRefund, statusOf } from "@/tests/support/billing/billing";
import { bought, send, subscriber } from "@/tests/support/billing/revenuecat";
import { setUpRevenueCat } from "@/tests/support/billing/revenuecat-setup";
import { ctx, truncate } from "@/tests/support/context";

const { revenueCat, billing, withKey } = await setUpRevenueCat();

/** Has the operator ask about an account; tells what came of it. */
async function reconcile({ id }: { id: string }) {
  const results = [];
  for await (const one of reconcileAccount({ ...ctx(), billing: billing() }, id)) results.push(one);
  return results;
}

test.each<[string, Parameters<typeof revenueCat.answerWith>[0]]>([
  ["is down", (response) => send(response, 503, { code: 1 })],
  ["has had enough", (response) => send(response, 429, {}, { "retry-after": "0" })],
  ["refuses the key", (response) => send(response, 401, {})],
  ["answers what is no JSON", (response) => void response.end("<html>")],
  ["answers other JSON", (response) => send(response, 200, [{ subscriber: 1 }])],
  ["answers half", (response) => void response.writeHead(200, { "content-length": 100 }).destroy()],
  ["sends elsewhere", (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end()],
])("a provider that %s delays no delivery, changes nothing and is logged", async (_, answering) => {
  const ann = await newAccount();
  const { event } = bought(ann);
  await deliverOk(event);
  revenueCat.answerWith(answering);
  const refund = { ...event, id: randomUUID(), type: "CANCELLATION", ...revokingRefund() };
  await withKey(async () => {
    expect(await (await deliver(refund)).json()).toMatchObject({ status: "processed" });
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
    expect(await statusOf(ann)).toMatchObject({ status: "revoked" });
  });
  expect((await reconcile(ann)).at(-1)).toEqual({ appUserId: ann.id, failure: expect.stringMatching(/Error: /) });
  expect(await statusOf(ann)).toMatchObject({ status: "revoked" });
});

test.each([
  ["0", 0],
  ["120", 120],
  ["301", 300],
  ["99999999999999999999", 300],
  ["Fri, 20 Nov 2026 12:00:00 GMT", 60],
])("a command pauses for a Retry-After of %s, five minutes at most, and reports it", async (given, waits) => {
  const ann = await newAccount();
  revenueCat.answerWith((response) => send(response, 429, {}, { "retry-after": given }));
  const asking = reconcileAccount({ ...ctx(), billing: billing() }, ann.id);
  expect((await asking.next()).value).toEqual({ appUserId: ann.id, pauseSeconds: waits });
  await asking.return(undefined);
});

test("after the pause the request is retried a few times", async () => {
  const ann = await newAccount();
  const { event, known } = bought(ann);
  await deliverOk(event);
  const wait = { appUserId: ann.id, pauseSeconds: 0 };
  revenueCat.answerWith((response) => send(response, 429, {}, { "retry-after": "0" }));
  const failure = expect.stringContaining("status 429");
  expect(await reconcile(ann)).toEqual([wait, wait, wait, wait, { appUserId: ann.id, failure }]);
  revenueCat.asked.length = 0;
  revenueCat.answerWith((response) => {
    if (revenueCat.asked.length < 3) return send(response, 429, {}, { "retry-after": "0" });
    send(response, 200, { subscriber: subscriber({ monthly: known }) });
  });
  expect(await reconcile(ann)).toEqual([wait, wait, { appUserId: ann.id, result: { known: 1, corrected: 0 } }]);
});

test("a provider that does not respond delays no delivery", async () => {
  const ann = await newAccount();
  const { event } = bought(ann);
  await deliverOk(event);
  revenueCat.answerWith(() => {});
  await withKey(async () => {
    const refund = { ...event, id: randomUUID(), type: "CANCELLATION", cancel_reason: "CUSTOMER_SUPPORT" };
    expect((await deliver(refund)).status).toBe(200);
    await expect.poll(() => revenueCat.asked).toEqual([ann.id]);
  });
  expect(await reconcile(ann)).toEqual([{ appUserId: ann.id, failure: expect.stringContaining("is unreachable") }]);
});

test("every customer is reconciled once, and a failure does not stop the others", async () => {
  await truncate();
  const people = [await newAccount(), await newAccount(), await newAccount()];
  for (const person of people) {
    await deliverOk(bought(person).event);
    await deliverOk(bought(person, { store: "STRIPE" }).event);
  }
  revenueCat.answerWith((response, customer) =>
    customer === people[1]?.id ? send(response, 500, {}) : send(response, 200, { subscriber: subscriber({}) }),
  );
  const results = [];
  for await (const one of reconcileAll({ ...ctx(), billing: billing() })) results.push(one);
  expect(revenueCat.asked.toSorted()).toEqual(people.map(({ id }) => id).toSorted());
  expect(results.filter((one) => "failure" in one)).toMatchObject([{ appUserId: people[1]?.id }]);
});

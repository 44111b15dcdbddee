import { beforeEach, expect, onTestFinished, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { billingEvent, deliverOk, initialPurchase } from "@/tests/support/subscriptions/billing";

/** A new account for each test. */
let account: TestAccount;
beforeEach(async () => {
  account = await newAccount();
});

const PATH = "/api/subscription/status";

const ask = ({ token }: { token: string }, query: Record<string, string> = {}, signal?: AbortSignal) =>
  get(`${PATH}?${new URLSearchParams(query)}`, { token, ...(signal && { signal }) });
const etagOf = (response: Response) => response.headers.get("etag") ?? "";

test("the entity tag stays until the status changes", async () => {
  const first = etagOf(await ask(account));
  expect(first).toMatch(/^W\/"[\w-]{22}"$/);
  expect(etagOf(await ask(account))).toBe(first);
  await deliverOk(initialPurchase(account.id));
  expect(etagOf(await ask(account))).not.toBe(first);
});

test("a request that waits is responded to when an event changes the status", async () => {
  const since = etagOf(await ask(account));
  const waiting = ask(account, { since, wait: "30" });
  await deliverOk(initialPurchase(account.id));
  const response = await waiting;
  expect(await response.json()).toMatchObject({ status: "active" });
  const again = ask(account, { since: etagOf(response), wait: "30" });
  await deliverOk(billingEvent("NON_RENEWING_PURCHASE", { app_user_id: account.id, entitlement_ids: ["tools"] }));
  expect(((await (await again).json()) as { entitlements: unknown[] }).entitlements).toHaveLength(2);
});

test("a purchase of another account ends no wait, and at its end the status is the same", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const since = etagOf(await ask(ann));
  const waiting = ask(ann, { since, wait: "2" });
  await deliverOk(initialPurchase(bob.id));
  const response = await waiting;
  expect([response.status, etagOf(response)]).toEqual([200, since]);
});

test("a request whose status differs already, or that may not wait, is responded to at once", async () => {
  const since = etagOf(await ask(account));
  const opaque = since.slice(3, -1);
  const responses = [
    await ask(account, { since: 'W/"other"', wait: "30" }),
    await ask(account, { since: "", wait: "30" }),
    await ask(account, { wait: "30" }),
    await ask(account, { since }),
    await ask(account, { since: opaque, wait: "0" }),
  ];
  for (const response of responses) expect([response.status, etagOf(response)]).toEqual([200, since]);
  await withContext({ isDraining: true }, async () => {
    expect((await ask(account, { since: opaque, wait: "30" })).status).toBe(200);
  });
});

test("a process that stops responds to the requests that wait", async () => {
  const since = etagOf(await ask(account));
  const waiting = ask(account, { since, wait: "30" });
  onTestFinished(() => {
    ctx().isDraining = false;
  });
  ctx().isDraining = true;
  expect((await waiting).status).toBe(200);
});

test("five requests of an account may wait at a time", async () => {
  const since = etagOf(await ask(account));
  const waiting = Array.from({ length: 6 }, () => ask(account, { since, wait: "30" }));
  const refused = await Promise.race(waiting);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("1");
  await deliverOk(initialPurchase(account.id));
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 200, 200, 200, 200, 429]);
  expect((await ask(account, { since, wait: "30" })).status).toBe(200);
});

test("a client that is gone leaves its place within seconds", async () => {
  const since = etagOf(await ask(account));
  const client = new AbortController();
  const all = Array.from({ length: 5 }, () => ask(account, { since, wait: "30" }, client.signal));
  const gone = Promise.allSettled(all);
  await expect.poll(async () => (await ask(account, { since, wait: "1" })).status).toBe(429);
  client.abort();
  await expect.poll(async () => (await ask(account, { since, wait: "1" })).status).toBe(200);
  await gone;
});

test("a wait that is not possible is rejected", async () => {
  const queries: Record<string, string>[] = [
    { wait: "31" },
    { wait: "-1" },
    { wait: "x" },
    { since: "x".repeat(101) },
    { fresh: "yes" },
  ];
  for (const query of queries) {
    const response = await ask(account, query);
    expect([query, response.status]).toEqual([query, 400]);
  }
});

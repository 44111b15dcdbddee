import { expect, test } from "vitest";
import { getSubscriptionStatus, memoryStore, watchSubscriptionStatus } from "@/clients/js/src/index";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { newClient } from "@/tests/support/clients/client";
import { deliverOk, initialPurchase } from "@/tests/support/subscriptions/billing";

test("an app sees its status at once and after each change, until it stops watching", async () => {
  const account = await newAccount();
  const { client } = newClient({ session: memoryStore(account.token) });
  const stop = new AbortController();
  const statuses: string[] = [];
  for await (const { status } of watchSubscriptionStatus(client, { signal: stop.signal })) {
    statuses.push(status);
    if (status === "active") stop.abort();
    else await deliverOk(initialPurchase(account.id));
  }
  expect(statuses).toEqual(["none", "active"]);
});

test("watching goes on while the service cannot be reached, and ends with the session", async () => {
  const { token } = await newAccount();
  let attempts = 0;
  const { client } = newClient({
    session: memoryStore(token),
    maxRetries: 0,
    fetch: async (input, init) => {
      attempts += 1;
      if (attempts === 1) throw new TypeError("fetch failed");
      const { pathname, search } = new URL(String(input));
      const authorization = attempts === 2 ? (new Headers(init?.headers).get("authorization") ?? "") : "Bearer ended";
      return call("GET", pathname + search, { headers: { authorization } });
    },
  });
  const watched = watchSubscriptionStatus(client);
  expect((await watched.next()).value).toMatchObject({ status: "none" });
  await expect(watched.next()).rejects.toMatchObject({ code: "unauthenticated" });
  expect(attempts).toBe(3);
});

test("right after a purchase the client requests a status that is read from the provider", async () => {
  const { token } = await newAccount();
  const { client } = newClient({ session: memoryStore(token) });
  expect(await getSubscriptionStatus(client, { isFresh: true })).toMatchObject({ status: "none", isFresh: false });
  expect(await getSubscriptionStatus(client)).not.toHaveProperty("isFresh");
});

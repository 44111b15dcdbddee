import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { newId } from "@/lib/platform/db/ids";
import type { SearchResult, SearchResults } from "@/lib/search/schema";
import { search } from "@/lib/search/search";
import { newAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { newToken, registeredDevice } from "@/tests/support/push/push";
import {
  anonymous,
  billingEvent,
  deliverOk,
  initialPurchase,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { startProvider, withKeys } from "@/tests/support/subscriptions/billing-sources";
import { send } from "@/tests/support/subscriptions/revenuecat";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const tokens = { admin: "", support: "", user: "" };

beforeAll(async () => {
  for (const role of ["admin", "support", "user"] as const) tokens[role] = (await accountWithRole(role)).token;
});

const request = (query: string, token: string) => get(`/api/admin/search?${new URLSearchParams({ query })}`, { token });

/** What an operator finds. */
async function find(query: string, role: "admin" | "support" = "support"): Promise<SearchResult[]> {
  const response = await request(query, tokens[role]);
  expect(response.status).toBe(200);
  return ((await response.json()) as { results: SearchResult[] }).results;
}

/** The page that an exact query leads to. */
const pageOf = async (query: string, role: "admin" | "support" = "support") => {
  const results = await find(query, role);
  return results.length === 1 && results[0]?.isExact ? results[0].path : results;
};

const uuidDigits = () => randomUUID().replaceAll("-", "");

describe("a search leads to the page of", () => {
  test("an account, by its email, its ids, and what the billing provider calls it", async () => {
    const { id, email } = await newAccount();
    const [original, alias] = [`customer-${randomUUID()}`, anonymous()];
    await deliverOk(
      billingEvent("INITIAL_PURCHASE", { app_user_id: id, original_app_user_id: original, aliases: [alias] }),
    );
    const externalId = `old-${randomUUID()}`;
    await ctx().db.accountAlias.create({ data: { accountId: id, appUserId: externalId } });
    const copied = [`Ann <${email}>`, `"${id}"`, `Account ID: ${id}`, `\u202E${id}\u200B`, ` ${email.toUpperCase()}\n`];
    for (const query of [id, id.toUpperCase(), email, original, alias, externalId, ...copied]) {
      expect(await pageOf(query), query).toBe(`/console/accounts/${id}`);
    }
  });

  test("a purchase, by its transactions, also those of renewals, and an event, by the provider's id and ours", async () => {
    const { id } = await newAccount();
    const first = `GPA.${uuidDigits().replace(/\D/g, "1").slice(0, 17)}`;
    const bought = {
      ...initialPurchase(id),
      original_transaction_id: first,
      transaction_id: first,
      store: "PLAY_STORE",
    };
    await deliverOk(bought);
    await deliverOk(billingEvent("RENEWAL", { ...bought, id: randomUUID(), transaction_id: `${first}..0` }));
    const event = await storedEvent(bought.id);
    const purchase = `/console/billing/purchases/${event?.purchaseId}`;
    const renewals = [`${first}..0`, `${first.toLowerCase()}..7`];
    for (const query of [first, ...renewals, `Order number: ${first}`, event?.purchaseId ?? ""]) {
      expect(await pageOf(query), query).toBe(purchase);
    }
    for (const query of [bought.id, event?.id ?? ""]) {
      expect(await pageOf(query), query).toBe(`/console/billing/events/${event?.id}`);
    }
    expect(await find(first.slice(0, -1))).toEqual([]);
  });

  test("an event that no purchase was made of, by its transaction", async () => {
    const transaction = randomUUID();
    const event = billingEvent("SOMETHING_NEW", { original_transaction_id: transaction });
    await deliverOk(event);
    expect(await pageOf(transaction)).toBe(`/console/billing/events/${(await storedEvent(event.id))?.id}`);
  });

  test("a device's owner, by the device's id, its token as a log has it, and the id of the installation", async () => {
    const owner = await newAccount();
    const [token, installationId] = [newToken(), randomUUID()];
    const { device } = await registeredDevice(owner, { token, installationId });
    const description = `<${(token.match(/.{8}/g) ?? []).join(" ")}>`;
    for (const query of [device.id, installationId, token, token.toUpperCase(), description]) {
      expect(await pageOf(query), query).toBe(`/console/accounts/${owner.id}`);
    }
    expect(await find(token.slice(0, 8))).toMatchObject([{ kind: "device", isExact: false }]);
    expect(await find(token.slice(0, 7))).toEqual([]);
  });

  test("a message and an event of a webhook, by their ids", async () => {
    const { id } = await newAccount();
    const message = {
      id: newId(),
      eventKey: randomUUID(),
      kind: "custom",
      payload: {},
      priority: 5,
      expiresAt: new Date(),
    };
    await ctx().db.pushMessage.create({ data: { ...message, accountId: id } });
    expect(await pageOf(message.id)).toBe(`/console/push/messages/${message.id}`);
    const receiver = await newReceiver(["account.created"]);
    await newAccount();
    const delivery = await ctx().db.webhookDelivery.findFirstOrThrow({ where: { endpointId: receiver.id } });
    expect(await pageOf(delivery.eventId)).toBe(`/console/settings/webhooks/${receiver.id}/${delivery.eventId}`);
    await removeEndpoints();
  });

  test("a version, with or without v, and lists it where several channels have it", async () => {
    const release = ctx().catalog.current()?.releases[0];
    const version = release?.version.version ?? "";
    const results = await find(`v${version}`);
    expect(results).toContainEqual({
      kind: "release",
      id: expect.any(String),
      title: version,
      detail: `${release?.product}, ${release?.channel}`,
      path: `/console/releases/${release?.product}/${release?.channel}/${version}`,
      isExact: true,
    });
    expect(new Set(results.map(({ path }) => path)).size).toBe(results.length);
  });

  test("an API key, by its beginning or its id, for admins alone", async () => {
    const { id, key, prefix } = await newKey();
    expect(await pageOf(prefix, "admin")).toBe(`/console/settings/keys?prefix=${prefix}`);
    expect(await pageOf(id, "admin")).toBe(`/console/settings/keys?prefix=${prefix}`);
    expect(await find(prefix.slice(0, 4), "admin")).toContainEqual(expect.objectContaining({ id, isExact: false }));
    expect(await find(prefix)).toEqual([]);
    const { keys } = await (await get(`/api/admin/keys?prefix=${prefix}`, { token: tokens.admin })).json();
    expect(keys).toMatchObject([{ id }]);
    expect((await (await request(key, tokens.admin)).json()).code).toBe("key_in_url");
  });
});

test("a search lists accounts by how their email or a part of their name begins, ten at most", async () => {
  const word = `q${uuidDigits()}`;
  const data = Array.from({ length: 12 }, (_, i) => ({
    id: newId(),
    email: `${word}${i}@example.com`,
    name: `Ann ${word}`,
  }));
  await ctx().db.account.createMany({ data });
  for (const [query, count] of [
    [word, 10],
    [`ann ${word}`, 10],
    [`${word}1`, 3],
  ] as const) {
    const results = await find(query);
    expect(results.every(({ kind, isExact }) => kind === "account" && !isExact)).toBe(true);
    expect(results).toHaveLength(count);
  }
});

test("a search finds an account by the email that it had until lately, which is no exact match", async () => {
  const { id, email } = await newAccount();
  const [at, expiresAt] = [ctx().now(), new Date(ctx().now().getTime() + 60_000)];
  const oldEmail = `old-${randomUUID()}@example.com`;
  const times = { createdAt: at, confirmExpiresAt: expiresAt, confirmedAt: at, expiresAt };
  const change = { accountId: id, oldEmail, newEmail: email, confirmTokenHash: randomUUID(), ...times };
  await ctx().db.emailChange.create({ data: change });
  expect(await find(oldEmail)).toMatchObject([{ id, title: email, detail: `formerly ${oldEmail}`, isExact: false }]);
});

describe("a search asks the provider whose id a receipt has", () => {
  /** A fake that knows one order, and what the search finds by its id. */
  async function findOrder(id: string, respond: Parameters<Awaited<ReturnType<typeof startProvider>>["respond"]>[0]) {
    const provider = await startProvider();
    onTestFinished(() => void provider.close());
    provider.respond(respond);
    const found = await withKeys(provider.url, async () => (await request(id, tokens.support)).json());
    return {
      ...(found as SearchResults),
      requests: provider.requests.map(({ url }) => `${url.pathname}${url.search}`),
    };
  }

  const purchaseOf = async (transaction: string) => {
    const event = billingEvent("INITIAL_PURCHASE", { original_transaction_id: transaction });
    await deliverOk(event);
    return `/console/billing/purchases/${(await storedEvent(event.id))?.purchaseId}`;
  };

  const subscription = `sub_${uuidDigits()}`;
  const invoice = {
    id: "in_1MtHbELkdIwHu7ixl4OzzPMv",
    object: "invoice",
    parent: { quote_details: null, subscription_details: { metadata: {}, subscription }, type: "subscription_details" },
  };
  const paid = { type: "payment_intent", payment_intent: "pi_3MtwBwLkdIwHu7ix28a3tqPa" };
  const jws = ["e30", Buffer.from(JSON.stringify({ originalTransactionId: subscription })).toString("base64url"), "x"];

  test.each<[string, string, object]>([
    [invoice.id, `/v1/invoices/${invoice.id}`, invoice],
    ["in_1MtHbELkdIwHu7ixl4OzzPMw", "/v1/invoices/in_1MtHbELkdIwHu7ixl4OzzPMw", { object: "invoice", subscription }],
    [
      paid.payment_intent,
      "/v1/invoice_payments",
      { object: "list", data: [{ object: "invoice_payment", payment: paid, invoice }] },
    ],
    [
      "txn_01hen7bxc1p8ep4yk7n5jbzk9r",
      "/transactions/txn_01hen7bxc1p8ep4yk7n5jbzk9r",
      { data: { subscription_id: subscription } },
    ],
    ["MK5TTTVWJH", "/inApps/v1/lookup/MK5TTTVWJH", { status: 0, signedTransactions: [jws.join(".")] }],
  ])("%s", async (id, path, response) => {
    const purchase = await purchaseOf(subscription);
    const { results, order, requests } = await findOrder(id, () => response);
    expect(requests[0]?.split("?")[0]).toBe(path);
    expect(results.filter((one) => one.path === purchase && one.isExact)).toHaveLength(1);
    expect(order).toMatchObject({ transactions: [subscription], problem: null });
  });

  test("and says that it does not know it, or knows a purchase of which nothing was received", async () => {
    const unknown = await findOrder("MK5TTTVWJH", () => ({ status: 1 }));
    expect(unknown).toMatchObject({ results: [], order: { provider: "Apple", transactions: [], problem: null } });
    const missing = await findOrder(invoice.id, (_, response) =>
      send(response, 404, { error: { code: "resource_missing" } }),
    );
    expect(missing).toMatchObject({ results: [], order: { provider: "Stripe", transactions: [], problem: null } });
    const other = { data: { subscription_id: "sub_of_nobody" } };
    const lost = await findOrder("txn_01hen7bxc1p8ep4yk7n5jbzk9r", () => other);
    expect(lost).toMatchObject({ results: [], order: { provider: "Paddle", transactions: ["sub_of_nobody"] } });
  });

  test.each([[401], [429], [500]])("and says why it failed: status %i, another form, or no key", async (status) => {
    const { order } = await findOrder(invoice.id, (_, response) => send(response, status, {}));
    expect(order?.problem).toContain(`Stripe: the billing provider returned status ${status}`);
    const forms = [
      await findOrder(invoice.id, () => []),
      await findOrder("MK5TTTVWJH", () => ({ status: 0, signedTransactions: ["x"] })),
    ];
    for (const { results, ...one } of forms) expect([results, one.order?.problem]).toEqual([[], expect.any(String)]);
    const without = (await (await request(invoice.id, tokens.support)).json()) as SearchResults;
    expect(without.order?.problem).toContain("BILLING_STRIPE_API_KEY is not set");
  });

  test("but not for an id that is found, and not for a name", async () => {
    const { id } = await newAccount();
    await ctx().db.accountAlias.create({ data: { accountId: id, appUserId: "in_00000000" } });
    expect(await findOrder("in_00000000", () => invoice)).toMatchObject({ order: null, requests: [] });
    expect(await findOrder("Maximilian", () => invoice)).toMatchObject({ results: [], order: null, requests: [] });
  });
});

describe("a search", () => {
  test.each([
    " ",
    "%",
    "_%",
    '\'; DROP TABLE "Account"; --',
    "\\",
    "{a,b}",
    "\u202E\u200B",
    "\u0001\u0002",
    "\u{10FFFF}",
    "مرحبا",
    "GPA.",
    "..",
    "[<(",
    "hp_",
    "x".repeat(1024),
    `https://${"x".repeat(1000)}`,
    "f".repeat(1024),
    "0".repeat(400),
    "null",
  ])("for %j finds nothing, and responds with 200", async (query) => {
    expect(await find(query)).toEqual([]);
  });

  test.each([["\0"], ["x".repeat(1025)]])("for %j responds with 400", async (query) => {
    expect((await request(query, tokens.admin)).status).toBe(400);
  });

  test("is for operators, and not for API keys", async () => {
    expect((await request("ann", tokens.user)).status).toBe(403);
    expect((await get("/api/admin/search?query=ann")).status).toBe(401);
    const { key } = await newKey({ scopes: ["accounts:write", "billing:write"] });
    expect((await request("ann", key)).status).toBe(403);
  });
});

describe.runIf(postgresUrl)("on PostgreSQL an index serves the search for", () => {
  test.each([
    ["a UUID", randomUUID()],
    ["an email", "ann@example.com"],
    ["an order", "GPA.3345-1234-5678-90123..0"],
    ["a token", newToken()],
    ["the beginning of a token", newToken().slice(0, 8)],
    ["a key", "hp_abcd"],
  ])("%s", async (_, query) => {
    await deliverOk(initialPurchase((await newAccount()).id));
    expect(await statementsWithoutIndex((db) => search({ ...ctx(), db }, "admin", query))).toEqual([]);
  });
});

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import type { Prisma } from "@/lib/platform/db/generated/client";
import { pseudonymOf } from "@/lib/subscriptions/app-user-ids";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { billingEvent, deliverOk } from "@/tests/support/subscriptions/billing";

/** PBKDF2 of "password". */
const HASH = "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdAw$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M";

async function importRecord(record: object) {
  const { key } = await newKey({ scopes: ["accounts:write"] });
  const response = await call("POST", "/api/admin/accounts/import", { body: JSON.stringify(record), token: key });
  const { results } = (await response.json()) as { results: { status: string; accountId: string }[] };
  return results;
}

async function importAccount(fields: object): Promise<{ email: string; id: string }> {
  const email = `moved-${randomUUID()}@example.com`;
  const results = await importRecord({ email, password: { format: "pbkdf2", hash: HASH }, ...fields });
  expect(results).toMatchObject([{ status: "created" }]);
  return { email, id: results[0]?.accountId ?? "" };
}

async function isSubscribed({ email }: { email: string }): Promise<boolean> {
  const { token } = (await (await post("/api/auth/login", { email, password: "password" })).json()) as {
    token: string;
  };
  return ((await (await get("/api/subscription/status", { token })).json()) as { isActive: boolean }).isActive;
}

const purchaseOf = (id: string) =>
  billingEvent("INITIAL_PURCHASE", { app_user_id: id, original_app_user_id: id, aliases: [id] });

describe.each([
  ["an externalId", (id: string) => ({ externalId: id })],
  ["an App User ID", (id: string) => ({ appUserIds: [`another-${id}`, id] })],
])("an event that names %s belongs to the account", (_, fieldsOf) => {
  test("that was imported before", async () => {
    const id = `old-${randomUUID()}`;
    const account = await importAccount(fieldsOf(id));
    await deliverOk(purchaseOf(id));
    expect(await isSubscribed(account)).toBe(true);
  });

  test("that is imported later", async () => {
    const id = `old-${randomUUID()}`;
    await deliverOk(purchaseOf(id));
    const account = await importAccount(fieldsOf(id));
    expect(await isSubscribed(account)).toBe(true);
    await deliverOk(billingEvent("EXPIRATION", { app_user_id: id, aliases: [id] }));
  });
});

test("an import that is repeated links the purchases that the one before it could not", async () => {
  const id = `old-${randomUUID()}`;
  await deliverOk(purchaseOf(id));
  const account = await importAccount({ externalId: id });
  // The process ended after it had stored the link.
  const { db } = ctx();
  const state = { state: "received", processedAt: null, nextAttemptAt: new Date(Date.now() + 120_000) } as const;
  await db.billingEvent.updateMany({ where: { accountId: account.id, type: "SUBSCRIBER_ALIAS" }, data: state });
  await db.purchase.updateMany({ where: { accountId: account.id }, data: { accountId: null, appUserIds: [id] } });
  expect(await isSubscribed(account)).toBe(false);
  await importRecord({ email: account.email, externalId: id });
  expect(await isSubscribed(account)).toBe(true);
});

test("an old id that is an email, which the inbox stores as a hash, belongs to the account before and after the import", async () => {
  const [before, after] = [0, 1].map(() => `Old-${randomUUID()}@example.com`);
  const [ann, bob] = [await importAccount({ appUserIds: [before] }), { id: after ?? "" }];
  await deliverOk(purchaseOf(before ?? ""));
  await deliverOk(purchaseOf(bob.id));
  expect([await isSubscribed(ann), await isSubscribed(await importAccount({ appUserIds: [bob.id] }))]).toEqual([
    true,
    true,
  ]);
});

test("an id of another account's purchases or of a deleted account, and an email that another record has in other letters, are refused", async () => {
  const [bob, id] = [await newAccount(), randomUUID()];
  await deliverOk({ ...purchaseOf(bob.id), aliases: [bob.id, `old-${id}`] });
  await importAccount({ externalId: `old-${id}@example.com` });
  for (const old of [`old-${id}`, `Old-${id}@example.com`, pseudonymOf(id)])
    expect(await importRecord({ email: `${randomUUID()}@example.com`, appUserIds: [old] })).toMatchObject([
      { status: "refused", field: "/appUserIds/0" },
    ]);
});

test("events that arrive during the import belong to the account", async () => {
  const ids = Array.from({ length: 10 }, () => `old-${randomUUID()}`);
  const imported = await Promise.all(
    ids.map(async (id) => {
      const [account] = await Promise.all([importAccount({ externalId: id }), deliverOk(purchaseOf(id))]);
      return account;
    }),
  );
  for (const account of imported) expect(await isSubscribed(account)).toBe(true);
});

test("an account that is deleted while its purchases are linked does not come back into the billing history", async () => {
  const [old, email] = [`old-${randomUUID()}`, `moved-${randomUUID()}@example.com`];
  await deliverOk(purchaseOf(old));
  let id = "";
  const remove = async () => {
    id = (await ctx().db.account.findUniqueOrThrow({ where: { email } })).id;
    const { token } = await (await post("/api/auth/login", { email, password: "password" })).json();
    await post("/api/auth/account/delete", { confirm: "DELETE", password: "password" }, { token });
    expect(await ctx().db.account.count({ where: { id } })).toBe(0);
  };
  const $queryRaw = async ({ args, query }: { args: Prisma.Sql; query: (args: Prisma.Sql) => Promise<unknown> }) => {
    const rows = await query(args);
    if (id === "" && args.sql.includes('JOIN "BillingEvent" AS event ON')) await remove();
    return rows;
  };
  const db = ctx().db.$extends({ query: { $queryRaw } }) as unknown as Context["db"];
  const record = { email, externalId: old, password: { format: "pbkdf2", hash: HASH } };
  expect(await withContext({ db }, () => importRecord(record))).toMatchObject([{ status: "created", accountId: id }]);
  expect(await ctx().db.billingEvent.findMany({ where: { appUserIds: { has: id } } })).toEqual([]);
  const where = { appUserIds: { has: old } };
  expect(await ctx().db.billingEvent.findMany({ where })).toMatchObject([{ type: "INITIAL_PURCHASE" }]);
});

test("a transfer takes purchases from and to accounts that it names by old ids", async () => {
  const [from, to] = [`old-${randomUUID()}`, `old-${randomUUID()}`];
  const [ann, bob] = [await importAccount({ externalId: from }), await importAccount({ appUserIds: [to] })];
  await deliverOk(purchaseOf(from));
  const transfer = { app_user_id: undefined, transferred_from: [from], transferred_to: [to] };
  await deliverOk(billingEvent("TRANSFER", transfer));
  expect([await isSubscribed(ann), await isSubscribed(bob)]).toEqual([false, true]);
});

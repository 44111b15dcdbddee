import { describe, expect, onTestFinished, test } from "vitest";
import { eventsOf, newAccount, type TestAccount } from "@/tests/support/accounts";
import { answerOf, call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { mailbox } from "@/tests/support/mailbox";
import { activate, newToken, registeredDevice } from "@/tests/support/push/push";
import { deliver, deliverOk, initialPurchase, type Sent } from "@/tests/support/subscriptions/billing";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const remove = ({ password, token }: TestAccount) =>
  post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });

/** The rows of every table of the database, as text. */
async function dumpTables(): Promise<Record<string, string>> {
  const { db } = ctx();
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_name NOT LIKE '\\_prisma%'`;
  const entries = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await db.$queryRawUnsafe<{ row: string }[]>(`SELECT t::text AS row FROM "${name}" AS t`);
      return [name, rows.map(({ row }) => row).join("\n")] as const;
    }),
  );
  return Object.fromEntries(entries);
}

test("the owner of a verified email is notified of a deletion, even if strangers have used up the hourly emails", async () => {
  const account = await newAccount();
  const { id, email } = account;
  await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: ctx().now() } });
  await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
    for (let network = 0; network < 13; network++) {
      const ip = `198.51.100.${network}`;
      const registered = await post("/api/auth/register", { email, password: "a stranger's password" }, { ip });
      expect(registered.status).toBe(202);
    }
  });
  expect((await remove(account)).status).toBe(200);
  await expect.poll(() => mailbox.to(email).some((message) => message.includes("was deleted"))).toBe(true);
});

// ASVS 14.2.7
test("no table contains the id of a deleted account, and its billing events are kept", async () => {
  const account = await newAccount();
  const { device } = await registeredDevice(account, { device: { name: "Ann's iPhone" } });
  await activate(device.id);
  const purchase = initialPurchase(account.id);
  purchase.subscriber_attributes = { $email: { updated_at_ms: 1, value: account.email } };
  expect(await deliverOk(purchase)).toBe("processed");
  await post("/api/auth/reset/request", { email: account.email });
  const { key } = await newKey({ scopes: ["push:send"] });
  for (const to of [{ account: account.id }, { deviceId: device.id }]) {
    const message = { kind: "custom", to, title: "A title", body: "A body" };
    expect((await post("/api/admin/push/messages", message, { token: key })).status).toBe(201);
  }
  const before = Object.values(await dumpTables()).join();
  for (const value of [account.id, account.email, device.id, account.sessionId]) expect(before).toContain(value);

  expect((await remove(account)).status).toBe(200);
  await expect.poll(() => mailbox.to(account.email).some((message) => message.includes("was deleted"))).toBe(true);
  await expect.poll(() => ctx().db.queuedEmail.count({ where: { email: account.email } })).toBe(0);

  const after = await dumpTables();
  for (const value of [account.id, account.email, device.id, account.sessionId, "Ann's iPhone"]) {
    expect(Object.keys(after).filter((table) => after[table]?.includes(value))).toEqual([]);
  }
  expect(await eventsOf(account.id)).toContain("account_deleted");
  expect(after.BillingEvent).toContain(purchase.id);
});

test("the response lists the subscriptions that a store still charges for, and where to cancel them", async () => {
  const account = await newAccount();
  await deliverOk(initialPurchase(account.id));
  expect(await (await remove(account)).json()).toEqual({
    status: "deleted",
    subscriptions: [
      {
        store: "APP_STORE",
        status: "active",
        expiresAt: expect.stringMatching(/Z$/),
        managementUrl: expect.stringMatching(/^https:\/\/apps\.apple\.com\//),
      },
    ],
    storeSubscriptionsCancelled: false,
  });
});

test("an account without a password has to sign in again ten minutes after its sign-in, and no sooner", async () => {
  const account = await newAccount();
  await ctx().db.account.update({ where: { id: account.id }, data: { passwordHash: null } });
  const attempt = () => post("/api/auth/account/delete", { confirm: "DELETE" }, { token: account.token });
  clock.advance(10 * 60_000 + 1_000);
  expect(await answerOf(await attempt())).toMatchObject({ status: 403, body: { code: "reauthentication_required" } });
  clock.advance(-20_000);
  expect((await attempt()).status).toBe(200);
});

// ASVS 2.3.3, 7.4.2
test("requests during a deletion cause no server error and leave no data behind", async () => {
  for (let round = 0; round < 2; round++) {
    const account = await newAccount();
    const { email, password, token } = account;
    await deliverOk(initialPurchase(account.id));
    const others = [
      () => get("/api/subscription/status", { token }),
      () => get("/api/auth/account/export", { token }),
      () => get("/api/push/devices", { token }),
      () => post("/api/push/register", { token: newToken() }, { token }),
      () => post("/api/auth/login", { email, password }),
      () => post("/api/auth/login", { email, password: "a wrong one" }),
      () => post("/api/auth/reset/request", { email }),
      () => call("GET", "/api/auth/session", { cookie: `next-auth.session-token=${token}` }),
      () => deliver(initialPurchase(account.id)),
      () => remove(account),
    ];
    const [deleted, ...responses] = await Promise.all([remove(account), ...others.map((other) => other())]);
    const statuses = [deleted, ...responses].map(({ status }) => status);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect([deleted.status, responses.at(-1)?.status]).toContain(200);
    expect(await ctx().db.account.count({ where: { id: account.id } })).toBe(0);
    expect((await get("/api/subscription/status", { token })).status).toBe(401);
  }
});

test.each([
  ["", []],
  [", while an endpoint gets their events", ["account.deleted", "subscription.changed"] as const],
])("a deletion and webhooks about the same customer do not block each other%s", async (_, eventTypes) => {
  if (eventTypes.length > 0) await newReceiver([...eventTypes]);
  onTestFinished(removeEndpoints);
  for (let round = 0; round < 2; round++) {
    const account = await newAccount();
    const transactionId = crypto.randomUUID();
    const event = (type: string): Sent => ({
      ...initialPurchase(account.id),
      type,
      original_transaction_id: transactionId,
      transaction_id: transactionId,
    });
    const purchases = [event("INITIAL_PURCHASE"), event("RENEWAL"), event("RENEWAL")];
    for (const purchase of purchases) await deliverOk(purchase);
    const status = () => get("/api/subscription/status", { token: account.token });
    const responses = await Promise.all([
      deliver(event("CANCELLATION")),
      remove(account),
      deliver(event("RENEWAL")),
      status(),
      ...purchases.map((purchase) => deliver(purchase)),
    ]);
    expect(responses.map((response) => response.status).filter((code) => code >= 500)).toEqual([]);
    expect(await ctx().db.account.count({ where: { id: account.id } })).toBe(0);
  }
});

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  test("a deletion is retried after a deadlock", async () => {
    const account = await newAccount();
    await deliverOk(initialPurchase(account.id));
    const { db } = ctx();
    const where = { accountId: account.id };
    const { id: purchaseId } = await db.purchase.findFirstOrThrow({ where });
    let removal: Promise<Response> | undefined;
    await db
      .$transaction(
        async (tx) => {
          await tx.$queryRaw`SELECT 1 FROM "Purchase" WHERE id = ${purchaseId}::uuid FOR UPDATE`;
          removal = remove(account);
          const waiting = () => db.$queryRaw<unknown[]>`
          SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"Purchase"%'
            AND datname = current_database()`;
          await expect.poll(async () => (await waiting()).length).toBeGreaterThan(0);
          await tx.$queryRaw`SELECT 1 FROM "BillingEvent" WHERE "purchaseId" = ${purchaseId}::uuid FOR UPDATE`;
        },
        { timeout: 60_000 },
      )
      .catch(() => {}); // PostgreSQL may abort either transaction
    expect((await removal)?.status).toBe(200);
    expect(await db.account.count({ where: { id: account.id } })).toBe(0);
  });
});

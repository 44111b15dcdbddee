import { randomUUID } from "node:crypto";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { PrismaClient } from "@/lib/platform/db/generated/client";
import type { Tx } from "@/lib/platform/db/transaction";
import { recordStatusChanges } from "@/lib/subscriptions/notifications/status-changes";
import { WEBHOOK_EVENTS } from "@/lib/webhooks/events";
import { createWebhooks } from "@/lib/webhooks/webhooks";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { countLockWaits, postgresUrl } from "@/tests/support/database";
import { read } from "@/tests/support/sources";
import { billingEvent, DAY_MS, deliverOk } from "@/tests/support/subscriptions/billing";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

beforeEach(async () => {
  clock.reset();
  await removeEndpoints();
});

const recorded = async (type: string) =>
  (await ctx().db.webhookEvent.findMany({ where: { type }, orderBy: { id: "asc" } })).map(({ data }) => data);

test("the guide lists every event with its fields", () => {
  const guide = read("docs/guides/webhooks.md");
  for (const [type, { data }] of Object.entries(WEBHOOK_EVENTS)) {
    const [, fields = ""] = new RegExp(`^\\| \`${type}\` \\|[^|]*\\| (.*) \\|$`, "m").exec(guide) ?? [];
    const named = [...fields.replaceAll(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect([type, named]).toEqual([type, Object.keys(data.shape)]);
  }
});

test("nothing is recorded, and no transaction is opened, while nobody subscribes", async () => {
  expect(ctx().webhooks.isSubscribed("account.created")).toBe(false);
  await newAccount();
  expect(await ctx().db.webhookEvent.count()).toBe(0);
});

test("a change of a purchase runs no statement for webhooks while nobody subscribes to it", async () => {
  await newReceiver(["account.created"]);
  const { id } = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: id }));
  const purchase = await ctx().db.purchase.findFirstOrThrow({ where: { accountId: id } });
  const refusing = new Proxy({} as Tx, { get: () => expect.fail("a statement") });
  const change = { before: { ...purchase, accountId: null }, after: purchase };
  await recordStatusChanges(refusing, ctx(), [change]);
});

test("an endpoint stays known when a read that began before it is answered after", async () => {
  let [onRead, onHeld] = [() => {}, () => {}];
  const read = new Promise<void>((resolve) => {
    onRead = resolve;
  });
  const held = new Promise<void>((resolve) => {
    onHeld = resolve;
  });
  const db = ctx().db.$extends({
    query: {
      webhookEndpoint: {
        findMany: async ({ args, query }) => {
          const rows = await query(args);
          onRead();
          if (rows.length === 0) await held;
          return rows;
        },
      },
    },
  }) as unknown as PrismaClient;
  const webhooks = createWebhooks({
    ...ctx(),
    allowed: [],
    userAgent: "",
    decrypt: async () => "",
    onDisabled: async () => {},
    db,
  });
  onTestFinished(webhooks.close);
  const older = webhooks.refresh();
  await read;
  await newReceiver(["account.created"]);
  const newer = webhooks.refresh();
  // The newer read, if it has begun, is answered before.
  for (let reads = 0; reads < 5; reads++) await ctx().db.webhookEndpoint.count();
  onHeld();
  await Promise.all([older, newer]);
  expect(webhooks.isSubscribed("account.created")).toBe(true);
});

test("an event whose transaction is rolled back is not sent", async () => {
  const { id } = await newReceiver();
  const { id: accountId } = await newAccount();
  const event = { type: "account.created", data: { accountId }, accountId } as const;
  const failing = ctx().db.$transaction(async (tx) => {
    await ctx().webhooks.record(tx, [event]);
    throw new Error("rolled back");
  });
  await expect(failing).rejects.toThrow("rolled back");
  expect(await ctx().db.webhookDelivery.count({ where: { endpointId: id } })).toBe(1);
});

test.runIf(postgresUrl)("an event whose endpoint is being deleted fails nothing", async () => {
  const { endpoint } = await newReceiver(["account.created"]);
  let registering: Promise<Response> | undefined;
  await ctx().db.$transaction(async (tx) => {
    await tx.webhookEndpoint.delete({ where: { id: endpoint.id } });
    const json = { email: `${randomUUID()}@example.com`, password: "correct horse battery staple", transport: "token" };
    registering = post("/api/auth/register", json);
    await expect.poll(() => countLockWaits(ctx().db)).toBe(1);
  });
  expect((await registering)?.status).toBe(201);
});

test("a change of a subscription is announced once, and a renewal that changes nothing is not", async () => {
  await newReceiver(["subscription.changed"]);
  const { id: accountId } = await newAccount();
  const fields = { app_user_id: accountId, original_transaction_id: crypto.randomUUID() };
  await deliverOk(billingEvent("INITIAL_PURCHASE", fields));
  const active = { accountId, isActive: true, productId: "com.example.pro.monthly", entitlements: ["pro"] };
  const bought = { ...active, status: "active", previousStatus: "none" };
  expect(await recorded("subscription.changed")).toEqual([bought]);
  const renewal = billingEvent("RENEWAL", fields);
  await deliverOk(renewal);
  await deliverOk(renewal);
  expect(await recorded("subscription.changed")).toEqual([bought]);
  await deliverOk(billingEvent("CANCELLATION", { ...fields, cancel_reason: "UNSUBSCRIBE" }));
  expect((await recorded("subscription.changed")).slice(1)).toEqual([
    { ...active, status: "canceled", previousStatus: "active" },
  ]);
});

test("an expiry is announced, although the time of access was over before its event arrived", async () => {
  await newReceiver(["subscription.changed"]);
  const { id: accountId } = await newAccount();
  const fields = { app_user_id: accountId, original_transaction_id: crypto.randomUUID() };
  const expiresAt = clock.now().getTime() + DAY_MS;
  await deliverOk(billingEvent("INITIAL_PURCHASE", { ...fields, expiration_at_ms: expiresAt }));
  clock.advance(3 * DAY_MS);
  await deliverOk(
    billingEvent("EXPIRATION", { ...fields, expiration_at_ms: expiresAt, expiration_reason: "UNSUBSCRIBE" }),
  );
  expect((await recorded("subscription.changed")).at(-1)).toMatchObject({
    accountId,
    status: "expired",
    previousStatus: "active",
    isActive: false,
    entitlements: [],
  });
});

test("access that had ended before its event arrived is announced when another purchase gives it again", async () => {
  await newReceiver(["subscription.changed"]);
  const { id: accountId } = await newAccount();
  const startedAt = clock.now().getTime() - 10 * DAY_MS;
  const times = { event_timestamp_ms: startedAt, purchased_at_ms: startedAt, expiration_at_ms: startedAt + DAY_MS };
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: accountId, ...times }));
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: accountId }));
  expect(await recorded("subscription.changed")).toMatchObject([
    { status: "expired", previousStatus: "none", isActive: false, entitlements: [] },
    { status: "active", previousStatus: "expired", isActive: true, entitlements: ["pro"] },
  ]);
});

test("a purchase in the sandbox, which gives no access, is not announced", async () => {
  await newReceiver(["subscription.changed"]);
  const { id } = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: id, environment: "SANDBOX" }));
  expect(await recorded("subscription.changed")).toEqual([]);
});

test("a transfer is announced for both of its accounts, once each", async () => {
  await newReceiver(["subscription.changed"]);
  const [{ id: from }, { id: to }] = [await newAccount(), await newAccount()];
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: from, aliases: [], original_app_user_id: from }));
  const transfer = {
    id: randomUUID(),
    type: "TRANSFER",
    event_timestamp_ms: clock.now().getTime(),
    store: "APP_STORE",
    environment: "PRODUCTION",
    transferred_from: [from],
    transferred_to: [to],
  };
  await deliverOk(transfer);
  const moved = (await recorded("subscription.changed")).slice(1);
  expect(moved).toHaveLength(2);
  expect(moved).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ accountId: from, status: "none", previousStatus: "active", isActive: false }),
      expect.objectContaining({ accountId: to, status: "active", previousStatus: "none", isActive: true }),
    ]),
  );
});

import { beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "@/lib/principal";
import type { ProviderName, SentTestEvent, TestEventProviders } from "@/lib/subscriptions/test-events/schema";
import type { TestEventType } from "@/lib/subscriptions/test-events/test-change";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, emptyTables, setUpContext, withContext } from "@/tests/support/context";
import { runHomeport } from "@/tests/support/import-command";
import { deliverOk, initialPurchase, statusOf, storedEvent } from "@/tests/support/subscriptions/billing";

const PATH = "/api/admin/billing/test-events";
const HOUR_MS = 60 * 60 * 1000;

const SECRETS = {
  BILLING_STRIPE_WEBHOOK_SECRET: ["whsec_of_a_sandbox"],
  BILLING_PADDLE_WEBHOOK_SECRET: ["pdl_live"],
  BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET: ["pdl_sandbox"],
  BILLING_PRODUCTS: new Map([
    ["price_monthly", ["pro"]],
    ["price_yearly", ["pro", "storage"]],
    ["pri_monthly", ["pro"]],
    ["pri_yearly", ["pro", "storage"]],
    ["com.example.pro.monthly", ["pro"]],
  ]),
};
const STANDARD = {
  BILLING_PROVIDER: "standard-webhooks",
  BILLING_WEBHOOK_SIGNING_SECRET: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
} as const;

setUpContext({ config: SECRETS });

let admin: TestAccount;
beforeAll(async () => {
  admin = await accountWithRole("admin");
});

type Given = { type: TestEventType; accountId: string; provider?: ProviderName; productId?: string };

async function send<Body = SentTestEvent>(given: object, token = admin.token) {
  const response = await post(PATH, given, { token });
  return { status: response.status, body: (await response.json()) as Body };
}

async function sendOk(given: Given): Promise<SentTestEvent> {
  const { status, body } = await send(given);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

const listed = async () => ((await (await get(PATH, { token: admin.token })).json()) as TestEventProviders).providers;

const PROVIDERS = ["revenuecat", "standard-webhooks", "stripe", "paddle"] as const;
const WITH_STATES: readonly string[] = ["stripe", "paddle"];

describe.each(PROVIDERS)("test events of %s", (provider) => {
  const run = (work: () => Promise<void>) =>
    withContext({ config: provider === "standard-webhooks" ? STANDARD : {} }, work);
  const hasStates = WITH_STATES.includes(provider);

  test("lead to the status that the list says, each on its own, and are verified, stored and applied as real ones are", () =>
    run(async () => {
      const { types } = (await listed()).find((one) => one.provider === provider) ?? {};
      expect(types).toHaveLength(8);
      for (const { type, event, status } of types ?? []) {
        const ann = await newAccount();
        const sent = await sendOk({ type, accountId: ann.id, provider });
        expect([type, sent.before.status, sent.after.status, sent.status]).toEqual([type, "none", status, status]);
        expect(sent.events.map((one) => [one.type, one.status])).toEqual([
          ...(type === "INITIAL_PURCHASE" ? [] : [["INITIAL_PURCHASE", "processed"]]),
          [type, "processed"],
        ]);
        expect(sent.events.at(-1)?.event).toBe(event);
        const stored = await storedEvent(sent.events.at(-1)?.eventId ?? "");
        expect(stored).toMatchObject({ provider, environment: "SANDBOX", state: "processed" });
        expect((await statusOf(ann)).status).toBe(status);
      }
    }));

  test("continue one subscription, and the later one wins at once", () =>
    run(async () => {
      const { id: accountId } = await newAccount();
      const steps: [TestEventType, SentTestEvent["status"]][] = [
        ["INITIAL_PURCHASE", "active"],
        ["CANCELLATION", "canceled"],
        ["UNCANCELLATION", "active"],
        ["BILLING_ISSUE", "grace_period"],
        ["RENEWAL", "active"],
        ["PRODUCT_CHANGE", "active"],
        ["RENEWAL", "active"],
        ["CANCELLATION", "canceled"],
        ["RENEWAL", "active"],
        ["BILLING_ISSUE", "grace_period"],
        ["CANCELLATION", "grace_period"],
        ["EXPIRATION", "expired"],
        ["INITIAL_PURCHASE", "active"],
        ["REFUND", hasStates ? "active" : "revoked"],
        ["RENEWAL", "active"],
        ["EXPIRATION", "expired"],
      ];
      const purchaseIds = new Set();
      for (const [i, [type, status]] of steps.entries()) {
        const sent = await sendOk({ type, accountId, provider });
        expect([i, type, sent.after.status, sent.after.isActive]).toEqual([i, type, status, hasAccess(status)]);
        purchaseIds.add(sent.purchaseId);
      }
      expect(purchaseIds.size).toBe(1);
    }));
});

const hasAccess = (status: string) => ["active", "canceled", "grace_period"].includes(status);

test("the subscription gives access for an hour, also offline, and to nobody who is not a tester", async () => {
  const ann = await newAccount();
  const { sandboxUntil, after } = await sendOk({ type: "INITIAL_PURCHASE", accountId: ann.id });
  expect(after).toMatchObject({ isActive: true, entitlementIds: ["pro"] });
  const until = Date.parse(String(sandboxUntil));
  expect(until - clock.now().getTime()).toBeGreaterThan(HOUR_MS - 60_000);
  const token = await get("/api/subscription/token?audience=app", { token: ann.token });
  const [, claims = ""] = ((await token.json()) as { token: string }).token.split(".");
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
    entitlements: [{ id: "pro", expiresAt: Math.floor(until / 1000) }],
  });
  expect(await ctx().entitledAccounts(ctx().db, [ann.id], "pro")).toEqual(new Set([ann.id]));
  const now = () => new Date(until);
  await withContext({ now }, async () => {
    expect(await statusOf(ann)).toMatchObject({ status: "none", isActive: false, entitlements: [] });
  });
  // Another event makes it count again.
  await withContext({ now: () => new Date(until + HOUR_MS) }, async () => {
    const { key } = await newKey({ scopes: ["billing:write"] });
    const { body } = await send({ type: "RENEWAL", accountId: ann.id }, key);
    expect(body).toMatchObject({ before: { status: "none" }, after: { status: "active" } });
    expect((await statusOf(ann)).isActive).toBe(true);
  });
  const bob = await newAccount();
  await deliverOk({ ...initialPurchase(bob.id), environment: "SANDBOX" });
  expect((await statusOf(bob)).isActive).toBe(false);
});

test("a change of product takes effect as the provider says, and the products are those that are known", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const stripe = { provider: "stripe", accountId: ann.id } as const;
  expect((await sendOk({ ...stripe, type: "INITIAL_PURCHASE", productId: "price_monthly" })).productId).toBe(
    "price_monthly",
  );
  const changed = await sendOk({ ...stripe, type: "PRODUCT_CHANGE" });
  expect([changed.productId, changed.after.entitlementIds]).toEqual(["price_yearly", ["pro", "storage"]]);
  const refused = await send<{ errors: unknown[] }>({ ...stripe, type: "CANCELLATION", productId: "price_monthly" });
  expect([refused.status, refused.body.errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: "/productId", detail: expect.stringContaining("send PRODUCT_CHANGE first") })],
  ]);

  const revenueCat = { provider: "revenuecat", accountId: bob.id } as const;
  await sendOk({ ...revenueCat, type: "INITIAL_PURCHASE", productId: "price_monthly" });
  await sendOk({ ...revenueCat, type: "PRODUCT_CHANGE", productId: "price_yearly" });
  expect((await statusOf(bob)).changesTo).toMatchObject({ productId: "price_yearly" });
  await sendOk({ ...revenueCat, type: "RENEWAL" });
  expect(await statusOf(bob)).toMatchObject({ productId: "price_yearly", changesTo: null });

  const unknown = await send<{ errors: { detail: string }[] }>({
    ...stripe,
    type: "INITIAL_PURCHASE",
    productId: "price_other",
  });
  expect(unknown.status).toBe(422);
  expect(unknown.body.errors[0]?.detail).toMatch(
    /^Must be one of price_monthly \(pro\), price_yearly \(pro, storage\)/,
  );
});

test("without a product of one's own, the product changes between two that stand for one", async () => {
  await emptyTables(); // nothing was bought
  admin = await accountWithRole("admin");
  const { id: accountId } = await newAccount();
  const change = () => sendOk({ provider: "paddle", accountId, type: "PRODUCT_CHANGE" });
  await withContext({ config: { BILLING_PRODUCTS: new Map() } }, async () => {
    expect([(await change()).productId, (await change()).productId]).toEqual([
      "pri_homeport_test_yearly",
      "pri_homeport_test_monthly",
    ]);
  });
});

test("what cannot be sent is refused with its reason, and changes nothing", async () => {
  const { id: accountId } = await newAccount();
  const [type, stripe] = ["INITIAL_PURCHASE", "stripe"];
  const refusals: [object, object, number, object][] = [
    [{ type: "PURCHASE" }, {}, 422, { errors: [{ pointer: "/type", detail: expect.stringContaining("RENEWAL") }] }],
    [{ provider: "app-store" }, {}, 409, { code: "test_event_unavailable", reason: "not_signable" }],
    [{ provider: stripe }, { BILLING_STRIPE_WEBHOOK_SECRET: [] }, 409, { reason: "not_configured" }],
    // The secret for production must not sign a test event.
    [
      { provider: "paddle" },
      { BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET: [] },
      409,
      { detail: "paddle is not configured: set BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET." },
    ],
    [{ provider: "standard-webhooks" }, {}, 409, { reason: "not_configured" }],
    [{ accountId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11" }, {}, 422, { errors: [{ pointer: "/accountId" }] }],
  ];
  for (const [given, config, status, body] of refusals) {
    await withContext({ config }, async () => {
      const refused = await send({ type, accountId, ...given });
      expect([given, refused.status, refused.body]).toMatchObject([given, status, body]);
    });
  }
  const support = await accountWithRole("support");
  expect((await send({ type, accountId }, support.token)).status).toBe(403);
  expect(await ctx().db.account.findUnique({ where: { id: accountId } })).toMatchObject({ sandboxUntil: null });
  expect(await ctx().db.purchase.count({ where: { accountId } })).toBe(0);
});

test("the audit trail of the account has the event", async () => {
  const { id: accountId } = await newAccount();
  await sendOk({ type: "REFUND", accountId, provider: "stripe" });
  const events = await ctx().db.auditEvent.findMany({ where: { accountId, type: "billing_test_event_sent" } });
  expect(events).toMatchObject([{ actor: `account:${admin.id}`, details: { event: "charge.refunded" } }]);
});

test("the command takes a type in any case, an id or an email, and lists the types", async () => {
  const { id, email } = await newAccount();
  const run = <Result = SentTestEvent>(scopes: Scope[], ...args: string[]) =>
    runHomeport<Result>(scopes, "billing", "send-test", ...args);
  const first = await run(["billing:write"], "initial-purchase", "--account", id.toUpperCase(), "--provider", "stripe");
  expect(first.result).toMatchObject({
    productId: "price_monthly",
    before: { status: "none" },
    after: { isActive: true },
  });
  const both: Scope[] = ["accounts:read", "billing:write"];
  const { result } = await run(both, "EXPIRATION", "--account", email, "--provider", "stripe");
  expect([result.purchaseId, result.events.length, result.after.status]).toEqual([
    first.result.purchaseId,
    1,
    "expired",
  ]);
  const { result: types, notes } = await run<{ provider: string; type: string }[]>(["billing:read"], "--list");
  expect(new Set(types.map(({ provider }) => provider))).toEqual(new Set(["revenuecat", "stripe", "paddle"]));
  expect(notes).toContain("Only Apple can sign notifications of the App Store. Buy in its sandbox instead.");
  await expect(run(both, "PURCHASE", "--account", email)).rejects.toThrow("type: Must be one of INITIAL_PURCHASE,");
  await expect(run(both, "RENEWAL", "--account", "nobody@example.com")).rejects.toThrow("There is no account nobody");
});

import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readGuide } from "@/lib/platform/guides";
import type { AccessExplanation } from "@/lib/subscriptions/access/schema";
import { pauseApi, reconcileNext } from "@/lib/subscriptions/reconcile/reconciler";
import { scheduleReconcile } from "@/lib/subscriptions/reconcile/schedule";
import { sourceOf } from "@/lib/subscriptions/sources/find-source";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { answerOf, get, post } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, emptyTables, withContext } from "@/tests/support/context";
import { importFile, newFile, runHomeport } from "@/tests/support/import-command";
import {
  anonymous,
  billingEvent,
  DAY_MS,
  deliver,
  deliverOk,
  revokingRefund,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { transfer } from "@/tests/support/subscriptions/customers";
import { deliverWith } from "@/tests/support/subscriptions/deliver-with";
import { onRow, repair, whenProcessed } from "@/tests/support/subscriptions/faults";
import { stripeSubscription } from "@/tests/support/subscriptions/provider-objects";
import { type Json, PROVIDERS, stripeHeader } from "@/tests/support/subscriptions/providers";

let admin: TestAccount;
let support: TestAccount;
let ann: TestAccount;

beforeEach(async () => {
  await emptyTables();
  [admin, support] = [await accountWithRole("admin"), await accountWithRole("support")];
  ann = await newAccount();
});
afterEach(clock.reset);

const request = (id: string, query: Record<string, string> = {}, { token } = support) =>
  get(`/api/admin/accounts/${id}/access?${new URLSearchParams(query)}`, { token });

async function why(entitlement?: string, { id } = ann): Promise<AccessExplanation> {
  const { status, body } = await answerOf(await request(id, entitlement === undefined ? {} : { entitlement }));
  expect(status).toBe(200);
  return body;
}

const codes = ({ reasons }: AccessExplanation) => reasons.map(({ code }) => code);

/** Events of one purchase of an account. */
function purchaseOf({ id }: { id: string }, given: Json = {}) {
  const own = {
    app_user_id: id,
    original_app_user_id: id,
    aliases: [id],
    original_transaction_id: randomUUID(),
    ...given,
  };
  return (type: string, fields: Json = {}) => deliverOk(billingEvent(type, { ...own, ...fields }));
}

const minute = (at: Date) => `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
const inDays = (days: number) => clock.now().getTime() + days * DAY_MS;

describe("an account with access", () => {
  test("is told which purchase gives it, until when, and what was received", async () => {
    const endsAt = inDays(30);
    await purchaseOf(ann)("INITIAL_PURCHASE", { expiration_at_ms: endsAt });
    const explained = await why("pro");
    const [purchase] = await ctx().db.purchase.findMany();
    expect(explained).toMatchObject({ accountId: ann.id, entitlementId: "pro", hasAccess: true, appUserIds: [ann.id] });
    expect(explained.text).toBe(`${ann.email} has “pro”.`);
    expect(explained.reasons).toMatchObject([{ code: "subscription", purchaseId: purchase?.id, eventId: null }]);
    const text = explained.reasons[0]?.text;
    expect(text).toMatch(/^com\.example\.pro\.monthly \(APP_STORE\) gives access until /);
    expect(text).toContain(`until ${minute(new Date(endsAt))}, when it renews. Its last event: INITIAL_PURCHASE of `);
    expect(explained.lastEventAt).not.toBeNull();
    expect((await why()).text).toBe(`${ann.email} has access: “pro”.`);
  });

  test.each<[string, string, Json, RegExp]>([
    ["trial", "INITIAL_PURCHASE", { period_type: "TRIAL" }, /in a trial that gives access until/],
    ["lifetime", "NON_RENEWING_PURCHASE", { expiration_at_ms: null }, /does not end\./],
    ["subscription", "CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT" }, /It was refunded on .* access continues/],
    ["canceled_not_ended", "CANCELLATION", { cancel_reason: "UNSUBSCRIBE" }, /was canceled on .* gives access until/],
  ])("of the kind %s is told so", async (code, type, fields, text) => {
    const send = purchaseOf(ann);
    if (type === "CANCELLATION") await send("INITIAL_PURCHASE");
    await send(type, fields);
    const { hasAccess, reasons } = await why("pro");
    expect([hasAccess, reasons]).toMatchObject([true, [{ code, text: expect.stringMatching(text) }]]);
  });

  test("in a grace period, or while a renewal's event is awaited, is told what was due", async () => {
    const send = purchaseOf(ann);
    await send("INITIAL_PURCHASE", { expiration_at_ms: inDays(1) });
    clock.advance(DAY_MS + 60_000);
    expect((await why("pro")).reasons).toMatchObject([{ code: "renewal_awaited" }]);
    await send("BILLING_ISSUE", { expiration_at_ms: inDays(0) - 60_000, grace_period_expiration_at_ms: inDays(5) });
    const [reason] = (await why("pro")).reasons;
    expect(reason).toMatchObject({ code: "grace_period", text: expect.stringMatching(/A charge .* failed on/) });
    expect(reason?.actions[0]).toMatchObject({ path: "https://apps.apple.com/account/subscriptions", role: "support" });
  });

  test("by a grant is told who granted it and why, and after its end who ended it", async () => {
    const body = { accountId: ann.id, entitlementId: "beta", days: 7, reason: "Waited a week." };
    const { body: granted } = await answerOf(await post("/api/admin/billing/grants", body, { token: admin.token }));
    const [grant] = (await why("beta")).reasons;
    expect(grant).toMatchObject({ code: "grant", purchaseId: granted.grant.id });
    expect(grant?.text).toMatch(/^“beta” was granted on .* UTC by .*@example\.com: Waited a week\. The grant ends on /);
    clock.advance(8 * DAY_MS);
    const explained = await why("beta");
    expect(codes(explained)).toContain("grant_ended");
    const ended = explained.reasons.find(({ code }) => code === "grant_ended");
    expect(ended?.actions).toMatchObject([
      { command: `homeport billing grant ${ann.id} 'beta' --days 30 --reason TEXT`, role: "support" },
    ]);
  });

  test("is told nothing of older purchases, and of an event that failed", async () => {
    const old = purchaseOf(ann);
    await old("INITIAL_PURCHASE", { expiration_at_ms: inDays(1) });
    await old("EXPIRATION", { expiration_at_ms: inDays(0) - 1000, expiration_reason: "UNSUBSCRIBE" });
    await purchaseOf(ann)("INITIAL_PURCHASE");
    expect(codes(await why("pro"))).toEqual(["subscription"]);
    const failed = billingEvent("RENEWAL", {
      app_user_id: ann.id,
      transaction_id: null,
      original_transaction_id: null,
    });
    expect(await deliverOk(failed)).toBe("failed");
    const { reasons } = await why("pro");
    const id = (await storedEvent(failed.id))?.id;
    expect(reasons).toMatchObject([{ code: "subscription" }, { code: "event_failed", eventId: id }]);
    expect(reasons[1]?.text).toMatch(
      /^RENEWAL of .*, received on .* from RevenueCat, could not be applied \(transaction_not_named\)\.$/,
    );
    expect(reasons[1]?.actions).toMatchObject([{ path: `/console/billing/events/${id}`, role: "support" }]);
  });
});

describe("an account without access", () => {
  test.each<[string, [string, Json][], RegExp]>([
    ["refunded", [["CANCELLATION", revokingRefund()]], /was refunded on .* Access ended on .* CANCELLATION of/],
    [
      "expired",
      [["EXPIRATION", { expiration_at_ms: inDays(0) - 1000, expiration_reason: "UNSUBSCRIBE" }]],
      /expired on .* UTC \(UNSUBSCRIBE\)\. Its last event: EXPIRATION/,
    ],
    [
      "paused",
      [["EXPIRATION", { expiration_at_ms: inDays(0) - 1000, expiration_reason: "SUBSCRIPTION_PAUSED" }]],
      /is paused\. Access ended on/,
    ],
    [
      "payment_failed",
      [
        ["BILLING_ISSUE", { expiration_at_ms: inDays(0) - 2000 }],
        ["EXPIRATION", { expiration_at_ms: inDays(0) - 1000, expiration_reason: "BILLING_ERROR" }],
      ],
      /^A charge of .* failed on .*, and access ended on/,
    ],
  ])("because its purchase is %s is told when", async (code, events, text) => {
    const send = purchaseOf(ann);
    await send("INITIAL_PURCHASE");
    for (const [type, fields] of events) {
      clock.advance(1000);
      await send(type, fields);
    }
    const explained = await why("pro");
    expect(explained).toMatchObject({ hasAccess: false, text: `${ann.email} does not have “pro”.` });
    expect(explained.reasons).toMatchObject([{ code, text: expect.stringMatching(text) }]);
    expect((await why()).text).toBe(`${ann.email} has no access.`);
  });

  test("is told that the provider is silent since the renewal was due, and what to do", async () => {
    const dueAt = inDays(1);
    await purchaseOf(ann)("INITIAL_PURCHASE", { expiration_at_ms: dueAt });
    clock.advance(2 * DAY_MS);
    const [reason] = (await why("pro")).reasons;
    expect(reason?.code).toBe("provider_silent");
    expect(reason?.text).toContain(`was due on ${minute(new Date(dueAt))}, and no event has come of it.`);
    expect(reason?.text).toContain("The last event of RevenueCat arrived on");
    expect(reason?.actions.some(({ command }) => command?.includes("reconcile"))).toBe(false);
    const revenuecat = { getCustomer: () => Promise.reject(new Error("not asked")) };
    const billing = { ...ctx().billing, revenuecat };
    await withContext({ billing }, async () => {
      const command = `homeport billing reconcile --account ${ann.id}`;
      expect((await why("pro")).reasons[0]?.actions[0]).toMatchObject({ command, role: "admin" });
      const [provider, reference] = ["revenuecat", ann.id];
      await scheduleReconcile(ctx().db, ctx().dbNow, [{ provider, reference }]);
      await reconcileNext(ctx(), sourceOf(ctx(), provider));
      await pauseApi(ctx(), provider, 600);
      const { text = "" } = (await why("pro")).reasons[0] ?? {};
      expect(text).toMatch(/The provider limits requests: its API is paused until .* UTC\./);
      expect(text).toContain("The provider's API has not responded once; the next request is due on ");
    });
    const config = { BILLING_WEBHOOK_AUTHORIZATION: [], BILLING_WEBHOOK_SIGNING_SECRET: undefined };
    await withContext({ config }, async () => expect(codes(await why("pro"))).toEqual(["provider_not_configured"]));
  });

  test("is told that a purchase of the sandbox does not count, until it does", async () => {
    await purchaseOf(ann)("INITIAL_PURCHASE", { environment: "SANDBOX" });
    expect((await why("pro")).reasons).toMatchObject([{ code: "sandbox", text: expect.stringContaining("sandbox") }]);
    await withContext({ config: { BILLING_SANDBOX_TESTERS: [ann.id] } }, async () => {
      expect(await why("pro")).toMatchObject({ hasAccess: true, reasons: [{ code: "subscription" }] });
    });
    await purchaseOf(ann)("INITIAL_PURCHASE", { environment: null });
    expect(codes(await why("pro"))).toEqual(["sandbox", "environment_unknown"]);
  });

  test("is told that the product gives no entitlement, or another one", async () => {
    await purchaseOf(ann)("INITIAL_PURCHASE", { entitlement_ids: null, product_id: "unmapped" });
    const [unmapped] = (await why("pro")).reasons;
    expect(unmapped).toMatchObject({
      code: "product_without_entitlement",
      text: expect.stringContaining("unmapped (APP_STORE) is active, but its product gives no entitlement."),
      actions: [{ text: "Map the product to the entitlement in RevenueCat's dashboard.", role: "admin" }],
    });
    expect(await why()).toMatchObject({
      hasAccess: true,
      text: `${ann.email} has an active subscription, and no entitlement.`,
      reasons: [{ code: "product_without_entitlement" }],
    });
    await purchaseOf(ann)("INITIAL_PURCHASE", { entitlement_ids: ["chat"], product_id: "other" });
    const explained = await why("pro");
    expect(codes(explained)).toEqual(["entitlement_unknown", "product_without_entitlement", "other_entitlement"]);
    expect(explained.reasons[0]?.text).toBe("No product gives “pro”. Known entitlements: “chat”.");
    expect(explained.reasons[2]?.text).toMatch(/^other \(APP_STORE\) gives “chat”, not “pro”\./);
  });

  test("is told that an event was read before the product was mapped, and a replay mends it", async () => {
    const object = { ...stripeSubscription(ann.id), customer: "cus_1" };
    const created = Math.floor(clock.now().getTime() / 1000);
    const event = { id: `evt_${randomUUID()}`, type: "customer.subscription.created", created, livemode: true };
    const body = JSON.stringify({ ...event, data: { object } });
    const config = { BILLING_PRODUCTS: new Map([["price_other", ["other"]]]) };
    expect((await deliverWith(body, stripeHeader(body), "", config))[0]).toBe(200);
    await withContext({ config }, async () => expect(codes(await why())).toEqual(["product_without_entitlement"]));
    await withContext({ config: PROVIDERS }, async () => {
      const [reason] = (await why("pro")).reasons;
      const id = (await storedEvent(event.id))?.id;
      expect(reason).toMatchObject({ code: "mapping_changed", eventId: id });
      expect(reason?.text).toContain(
        "gives no entitlement, because its events were read before its product was mapped to “pro”.",
      );
      const replayed = await post(`/api/admin/billing/events/${id}/replay`, {}, { token: admin.token });
      expect(replayed.status).toBe(200);
      expect(await why("pro")).toMatchObject({ hasAccess: true, reasons: [{ code: "subscription" }] });
    });
  });

  test("is told that deliveries of its provider did not arrive, and that its API cannot be read", async () => {
    await purchaseOf(ann, { environment: "SANDBOX" })("INITIAL_PURCHASE");
    const sweep = { nextAt: clock.now(), finishedAt: clock.now(), lastFound: 12 };
    await ctx().db.billingSweep.createMany({
      data: [
        { ...sweep, provider: "revenuecat" },
        { ...sweep, provider: "stripe", failure: "the API responded 401" },
      ],
    });
    await withContext({ config: { BILLING_STRIPE_WEBHOOK_SECRET: ["whsec_1"] } }, async () => {
      expect(codes(await why("pro"))).toEqual(["sandbox", "deliveries_lost"]);
      const { reasons } = await why("pro", await newAccount());
      const [lost, , unreachable] = reasons;
      expect(reasons.map(({ code }) => code).slice(0, 3)).toEqual([
        "deliveries_lost",
        "deliveries_lost",
        "provider_unreachable",
      ]);
      expect(lost?.text).toMatch(
        /^The last search of the events that RevenueCat has sent, .* found 12 that had not arrived/,
      );
      expect(unreachable?.text).toContain("Stripe has sent cannot be read from its API: the API responded 401");
    });
  });

  test("is told which other account has the purchase that names it", async () => {
    const bob = await newAccount();
    await purchaseOf(ann)("INITIAL_PURCHASE");
    expect(await deliverOk({ ...transfer([ann.id], [bob.id], 0) })).toBe("processed");
    const explained = await why("pro");
    expect(codes(explained)[0]).toBe("other_account");
    const [reason] = explained.reasons;
    expect(reason).toMatchObject({ accountId: bob.id, purchaseId: expect.any(String) });
    expect(reason?.text).toContain(`belongs to another account, ${bob.email} (${bob.id}),`);
    expect(reason?.actions[0]).toMatchObject({
      path: `/console/accounts/${bob.id}`,
      command: `homeport accounts why ${bob.id}`,
    });
  });

  test("is told that no event names it, which ids were looked for, and that purchases have no account", async () => {
    const { BILLING_STRIPE_WEBHOOK_SECRET } = PROVIDERS;
    await withContext({ config: { BILLING_STRIPE_WEBHOOK_SECRET } }, async () => {
      expect(codes(await why("pro"))).toEqual(["no_event", "no_deliveries", "no_deliveries"]);
      const somebody = anonymous();
      await purchaseOf({ id: somebody })("INITIAL_PURCHASE");
      const explained = await why("pro");
      expect(codes(explained)).toEqual(["no_event", "no_deliveries", "unlinked_purchases"]);
      expect(explained.reasons[0]?.text).toBe(`No event names the account by its id ${ann.id}.`);
      expect(explained.reasons[1]?.text).toMatch(/^The webhook of Stripe is configured, and none of the newest/);
      expect(explained.reasons[2]?.text).toMatch(/^One purchase belongs to no account\./);
      expect(explained.lastEventAt).toBeNull();
    });
    const config = { BILLING_WEBHOOK_AUTHORIZATION: [], BILLING_WEBHOOK_SIGNING_SECRET: undefined };
    await withContext({ config }, async () => expect(codes(await why("pro"))).toEqual(["provider_not_configured"]));
  });

  test("that was imported is told that no event names its old id, until one does", async () => {
    const email = `imported-${randomUUID()}@example.com`;
    const oldId = `usr_${randomUUID()}`;
    await importFile(await newFile("a.ndjson", `${JSON.stringify({ email, externalId: oldId })}\n`));
    const imported = await ctx().db.account.findUniqueOrThrow({ where: { email } });
    const explained = await why("pro", { ...ann, id: imported.id });
    expect(explained.appUserIds).toEqual([imported.id, oldId]);
    expect(explained.reasons[0]).toMatchObject({
      code: "no_event",
      text: `No event names the account by its id ${imported.id}, nor by its old id ${oldId}.`,
    });
    await purchaseOf({ id: oldId })("INITIAL_PURCHASE");
    expect(await why("pro", { ...ann, id: imported.id })).toMatchObject({ hasAccess: true });
  });

  test("is told that what names it is of no purchase, or gives something else", async () => {
    const event = billingEvent("EXPERIMENT_ENROLLMENT", { app_user_id: ann.id });
    expect(await deliverOk(event)).toBe("ignored");
    const [reason] = (await why("pro")).reasons;
    expect(reason).toMatchObject({ code: "no_purchase", eventId: (await storedEvent(event.id))?.id });
    expect(reason?.text).toMatch(/The last one: EXPERIMENT_ENROLLMENT of .*, ignored \(type_not_applied\)\.$/);
    const other = purchaseOf(ann, { entitlement_ids: ["chat"] });
    await other("INITIAL_PURCHASE");
    await other("EXPIRATION", { expiration_at_ms: inDays(0) - 1000 });
    expect((await why("pro")).reasons).toMatchObject([
      { code: "entitlement_unknown" },
      { code: "no_purchase", text: "Nothing that the account has bought gives “pro”." },
    ]);
  });

  test("is told that an event waits, and that the account is disabled", async () => {
    const event = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
    await onRow("INSERT OR UPDATE", whenProcessed(event, "RAISE lock_not_available;"));
    expect((await deliver(event)).status).toBe(503);
    await repair();
    const { reasons } = await why("pro");
    expect(reasons).toMatchObject([
      { code: "event_waiting", text: expect.stringMatching(/from RevenueCat, is stored and not applied yet\.$/) },
    ]);
    expect((await post(`/api/admin/accounts/${ann.id}/disable`, {}, { token: admin.token })).status).toBe(200);
    const [disabled] = (await why("pro")).reasons;
    expect(disabled).toMatchObject({
      code: "account_disabled",
      actions: [{ command: `homeport accounts enable ${ann.id}`, role: "admin" }],
    });
  });
});

test("the pages of the guide that an answer leads to exist", async () => {
  const { markdown } = (await readGuide("billing")) ?? { markdown: "" };
  const sections = [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, "")
      .replaceAll(" ", "-"),
  );
  const BILLING_PROVIDER = "standard-webhooks";
  const found = [await withContext({ config: PROVIDERS }, () => why())];
  found.push(await withContext({ config: { BILLING_PROVIDER } }, () => why()));
  const none = { BILLING_WEBHOOK_AUTHORIZATION: [], BILLING_WEBHOOK_SIGNING_SECRET: undefined };
  found.push(await withContext({ config: none }, () => why()));
  const actions = found.flatMap(({ reasons }) => reasons.flatMap((reason) => reason.actions));
  const linked = new Set(actions.flatMap(({ path }) => path?.split("guides/billing#")[1] ?? []));
  expect(linked.size).toBe(5);
  expect([...linked].filter((section) => !sections.includes(section))).toEqual([]);
});

test("the answer has 20 reasons at most, and tells what is true of many purchases of a product once", async () => {
  for (let i = 0; i < 3; i += 1) {
    const send = purchaseOf(ann);
    await send("INITIAL_PURCHASE");
    await send("EXPIRATION", { expiration_at_ms: inDays(0) - 1000 });
  }
  expect(codes(await why())).toEqual(["expired"]);
  for (let i = 0; i < 25; i += 1)
    await purchaseOf(ann, { product_id: `p${i}`, environment: "SANDBOX" })("INITIAL_PURCHASE");
  expect((await why()).reasons).toHaveLength(20);
});

test("support and keys for billing may ask; customers, other keys and strangers may not, and of nobody else", async () => {
  expect((await request(ann.id, {}, ann)).status).toBe(403);
  expect((await get(`/api/admin/accounts/${ann.id}/access`)).status).toBe(401);
  const asKey = async (scope: "billing:read" | "accounts:read") =>
    (await request(ann.id, {}, { ...ann, token: (await newKey({ scopes: [scope] })).key })).status;
  expect([await asKey("billing:read"), await asKey("accounts:read")]).toEqual([200, 403]);
  const { result } = await runHomeport<AccessExplanation>(["billing:read"], "accounts", "why", ann.id, "pro");
  expect(result).toMatchObject({ accountId: ann.id, entitlementId: "pro", hasAccess: false });
  expect((await request(randomUUID())).status).toBe(404);
  expect((await request("nobody")).status).toBe(404);
  expect((await request(ann.id, { entitlement: "\0" })).status).toBe(400);
  expect((await request(ann.id, { entitlement: "x".repeat(256) })).status).toBe(400);
  expect(await why("%_'\u202e<b>")).toMatchObject({ hasAccess: false });
});

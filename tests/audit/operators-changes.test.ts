import { afterEach, beforeAll, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, ctx, emptyTables } from "@/tests/support/context";
import { clearOutbox, deliverDue, queueFor, recordingPush } from "@/tests/support/push/push";
import { deliverOk, initialPurchase, statusOf } from "@/tests/support/subscriptions/billing";
import { onRow, repair, whenProcessed } from "@/tests/support/subscriptions/faults";
import { iso, newCustomer, subscriber } from "@/tests/support/subscriptions/revenuecat";
import { setUpRevenueCat } from "@/tests/support/subscriptions/revenuecat-setup";
import { deliveriesOf, newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const { revenueCat, withKey } = await setUpRevenueCat();
let admin: TestAccount;

beforeAll(async () => {
  await emptyTables();
  admin = await accountWithRole("admin");
});
afterEach(repair);

/** The details of what the admin did. */
const detailsOf = async (type: string) => {
  const events = await ctx().db.auditEvent.findMany({ where: { type, accountId: admin.id }, orderBy: { id: "asc" } });
  return events.map(({ details }) => details);
};

/** Sends a request while the database, which is about to end, takes no event of a type. */
async function withoutEvent(type: string, request: () => Promise<Response>): Promise<void> {
  await onRow(
    "INSERT",
    `IF NEW.type = '${type}' THEN RAISE EXCEPTION 'terminating connection' USING ERRCODE = '57P01'; END IF;`,
    "AuditEvent",
  );
  expect((await request()).status).toBe(503);
  await repair();
}

test("deliveries of webhooks are not queued again without their event", async () => {
  await removeEndpoints();
  const since = new Date(clock.now().getTime() - 60_000).toISOString();
  await newReceiver();
  await newAccount();
  const other = await newReceiver();
  const replay = () => post(`/api/admin/webhooks/${other.id}/replay`, { since }, { token: admin.token });
  await withoutEvent("webhook_replayed", replay);
  expect(await deliveriesOf(other.id)).toEqual([]);
  expect(await (await replay()).json()).toEqual({ queued: 1 });
});

const failing = (reason: string, status: number) => recordingPush(async () => ({ status, reason })).push;

test("a pause of notifications is not ended without its event", async () => {
  await clearOutbox();
  await queueFor(1);
  await deliverDue({ push: failing("InvalidProviderToken", 403) });
  const end = () => call("DELETE", "/api/admin/push/pauses/production", { token: admin.token });
  await withoutEvent("push_pause_ended", end);
  expect(await ctx().db.pushPause.count()).toBe(1);
  expect(await (await end()).json()).toEqual({ resumed: 1 });
});

test("notifications are not queued again without their event", async () => {
  await clearOutbox();
  const waiting = await queueFor(1);
  await deliverDue({ push: failing("InvalidProviderToken", 403) });
  const retry = () => post("/api/admin/push/retries", {}, { token: admin.token });
  await withoutEvent("push_retried", retry);
  expect(await ctx().db.pushPause.count()).toBe(1);
  expect(await (await retry()).json()).toMatchObject({ resumed: 1 });
  await deliverDue({ push: failing("BadTopic", 400) });
  await withoutEvent("push_retried", retry);
  expect(await waiting.rows()).toMatchObject([{ state: "failed" }]);
  expect(await (await retry()).json()).toMatchObject({ retried: 1 });
  expect(await detailsOf("push_retried")).toEqual([
    { deliveries: 0, resumed: 1, isAll: true },
    { deliveries: 1, resumed: 0, isAll: true },
  ]);
});

test("billing events are not replayed without their event", async () => {
  const ann = await newAccount();
  const bought = initialPurchase(ann.id);
  await onRow("INSERT OR UPDATE", whenProcessed(bought, "RAISE division_by_zero;"));
  expect(await deliverOk(bought)).toBe("failed");
  await repair();
  const replay = () => post("/api/admin/billing/replays", { state: "failed" }, { token: admin.token });
  await withoutEvent("billing_events_replayed", replay);
  expect(await statusOf(ann)).toMatchObject({ isActive: false });
  expect(await (await replay()).json()).toMatchObject({ counts: { processed: 1 } });
  expect(await detailsOf("billing_events_replayed")).toEqual([{ state: "failed", events: 1, reason: null }]);
});

test("purchases are not reconciled without their event", async () => {
  const { ann, known } = await newCustomer();
  const unsubscribed = { ...known, unsubscribe_detected_at: iso(clock.now().getTime()) };
  revenueCat.customers.set(ann.id, subscriber({ monthly: unsubscribed }));
  const body = { accountId: ann.id };
  const reconcile = () => post("/api/admin/billing/reconciliations", body, { token: admin.token });
  await withKey(async () => {
    await withoutEvent("billing_reconciled", reconcile);
    expect(await statusOf(ann)).toMatchObject({ status: "active" });
    expect(await (await reconcile()).json()).toMatchObject({ customers: [{ corrected: 1 }] });
  });
  expect(await detailsOf("billing_reconciled")).toEqual([{ customers: 1, isWhole: false, reason: null }]);
});

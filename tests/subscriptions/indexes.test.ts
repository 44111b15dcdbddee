import prom from "prom-client";
import { beforeAll, describe, expect, test } from "vitest";
import { billingGauges, createDatabaseGauges } from "@/lib/platform/telemetry/gauges";
import { explainAccess } from "@/lib/subscriptions/access/explain-access";
import { countPendingEvents, listBillingEvents } from "@/lib/subscriptions/admin/list-events";
import { readPurchaseTimeline } from "@/lib/subscriptions/admin/purchase-timeline";
import { BillingEventsQuery } from "@/lib/subscriptions/admin/schema";
import { showBillingEvent } from "@/lib/subscriptions/admin/show-event";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { exportBilling } from "@/lib/subscriptions/export-billing";
import { expireGrants } from "@/lib/subscriptions/grants/grants";
import { retryWithdrawals } from "@/lib/subscriptions/inbox/consent";
import { retryEvents } from "@/lib/subscriptions/inbox/inbox";
import { notifyTrialEndings } from "@/lib/subscriptions/notifications/trial-endings";
import { listPurchases } from "@/lib/subscriptions/operations";
import { reconcileNext } from "@/lib/subscriptions/reconcile/reconciler";
import { scheduleRenewals } from "@/lib/subscriptions/reconcile/schedule";
import { sweepProviders } from "@/lib/subscriptions/reconcile/sweep";
import { findReferences } from "@/lib/subscriptions/references";
import { openSources } from "@/lib/subscriptions/sources/find-source";
import { stripeSource } from "@/lib/subscriptions/sources/stripe";
import { readStatus } from "@/lib/subscriptions/status/read-status";
import { requestStatus, serializeStatus } from "@/lib/subscriptions/status/request-status";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { ctx, withContext } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import {
  anonymous,
  billingEvent,
  DAY_MS,
  deliverOk,
  initialPurchase,
  type Sent,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { prune, replay } from "@/tests/support/subscriptions/operator-actions";

/** Only looked at, never asked. */
const EVERY_API = { revenuecat: {}, stripe: {}, paddle: {}, appStore: {} } as ReturnType<typeof ctx>["billing"];
const NO_EVENTS = {
  listEvents: async () => ({ data: [{ id: "evt_1" }], has_more: false }),
} as unknown as typeof EVERY_API.stripe;
type Db = ReturnType<typeof ctx>["db"];

describe.runIf(postgresUrl)("on PostgreSQL an index serves", () => {
  let ann: TestAccount;
  let bought: Sent;

  beforeAll(async () => {
    ann = await newAccount();
    bought = initialPurchase(ann.id);
    await deliverOk(bought);
  });

  test("deliveries in batches, of every kind", async () => {
    const device = anonymous();
    const original = { app_user_id: ann.id, original_transaction_id: bought.original_transaction_id };
    const deliveries = async () => {
      await Promise.all(Array.from({ length: 5 }, () => initialPurchase(device)).map(deliverOk));
      for (const type of ["BILLING_ISSUE", "EXPIRATION", "RENEWAL"]) await deliverOk(billingEvent(type, original));
      await deliverOk(billingEvent("TRANSFER", { transferred_from: [device], transferred_to: [ann.id] }));
      await deliverOk(billingEvent("SUBSCRIBER_ALIAS", { app_user_id: ann.id, aliases: [anonymous()] }));
    };
    expect(await statementsWithoutIndex((db) => withContext({ db }, deliveries))).toEqual([]);
  });

  test.each<[string, (db: Db) => Promise<unknown>]>([
    ["the retry of pending events", (db) => retryEvents({ ...ctx(), db })],
    ["the retry of withdrawn consents", (db) => retryWithdrawals({ ...ctx(), db })],
    ["the schedule of overdue renewals", (db) => scheduleRenewals({ ...ctx(), db, billing: EVERY_API })],
    [
      "the search for lost events",
      (db) =>
        sweepProviders({ ...ctx(), db, billing: { ...EVERY_API, paddle: null, appStore: null, stripe: NO_EVENTS } }),
    ],
    ["the next job of a provider", (db) => reconcileNext({ ...ctx(), db, billing: EVERY_API }, stripeSource)],
    ["the end of grants", (db) => expireGrants({ ...ctx(), db })],
    ["the notifications of trials that end", (db) => notifyTrialEndings({ ...ctx(), db })],
    ["the gauges of billing", readGauges],
    ["the status of an account", (db) => readStatus({ ...ctx(), db }, ann.id)],
    ["the list of an account's purchases", (db) => listPurchases({ ...ctx(), db }, ann.id, { limit: 1 })],
    ["the version of an account's purchases", (db) => waitForChange(db)],
    ["the deletion of old payloads", (db) => prune(0, { ...ctx(), db })],
    ["an account's export", (db) => exportBilling(db, ann.id)],
    ["a replay of one event", (db) => replay({ eventId: bought.id }, { ...ctx(), db })],
    ["a replay of all events", (db) => replay("all", { ...ctx(), db })],
    ["an event with what it changed", async (db) => showBillingEvent({ db }, (await storedEvent(bought.id))?.id ?? "")],
    ["a transfer with what it changed", (db) => showTransfer(db)],
    ["a purchase's timeline", async (db) => readPurchaseTimeline({ ...ctx(), db }, await purchaseId(), {})],
    ["the numbers of events that need an operator", (db) => countPendingEvents({ db })],
    ["the search for customers to reconcile", findCustomers],
    ["why an account has access", (db) => explainAccess({ ...ctx(), db }, ann.id, {})],
    ["why an account has no access", explainNoAccess],
    ["an account's deletion", (db) => db.$transaction((tx) => anonymizeBilling(tx, ann.id))],
  ])("%s", async (_, run) => {
    expect(await statementsWithoutIndex(run)).toEqual([]);
  });

  test.each<[string, () => Promise<Record<string, string>> | Record<string, string>]>([
    ["nothing", () => ({})],
    ["state", () => ({ state: "failed" })],
    ["type", () => ({ type: "TRANSFER" })],
    ["state and type", () => ({ state: "processed", type: "RENEWAL" })],
    ["account", () => ({ account: ann.id })],
    ["account and type", () => ({ account: ann.id, type: "RENEWAL" })],
    ["purchase", async () => ({ purchase: await purchaseId() })],
    ["transaction", () => ({ purchase: String(bought.original_transaction_id) })],
    ["the provider's id", () => ({ event: bought.id })],
    ["unlinked", () => ({ unlinked: "true" })],
    ["unlinked and state", () => ({ unlinked: "true", state: "ignored" })],
    ["time", () => ({ receivedFrom: "2020-01-01T00:00:00Z", receivedBefore: "2100-01-01T00:00:00Z" })],
  ])("a list of events, filtered by %s, and its next page", async (_, filter) => {
    const query = BillingEventsQuery.parse({ limit: "1", ...(await filter()) });
    const list = async (db: Db) => {
      const { nextCursor } = await listBillingEvents({ db }, query);
      if (nextCursor) await listBillingEvents({ db }, { ...query, cursor: nextCursor });
    };
    expect(await statementsWithoutIndex(list)).toEqual([]);
  });

  test.each([
    ["nothing", {}],
    ["a state", { state: "processed" }],
    ["unlinked", { unlinked: "true" }],
    ["time", { receivedBefore: "2100-01-01T00:00:00Z" }],
  ])("in the order of a list, filtered by %s", async (_, filter) => {
    const query = BillingEventsQuery.parse({ limit: "1", ...filter });
    expect(await statementsWithoutIndex((db) => listBillingEvents({ db }, query), { inOrder: true })).toEqual([]);
  });

  const purchaseId = async () => (await storedEvent(bought.id))?.purchaseId ?? "";

  async function showTransfer(db: Db): Promise<void> {
    const moved = await ctx().db.billingEvent.findFirst({ where: { type: "TRANSFER" }, select: { id: true } });
    await showBillingEvent({ db }, moved?.id ?? "");
  }

  /** Of an account whose renewal is overdue, and of one that no event names. */
  async function explainNoAccess(db: Db): Promise<void> {
    const now = () => new Date(Date.now() + 60 * DAY_MS);
    const codes = [];
    for (const { id } of [ann, await newAccount()]) {
      const { reasons } = await explainAccess({ ...ctx(), billing: EVERY_API, db, now }, id, {});
      codes.push(reasons[0]?.code);
    }
    expect(codes).toEqual(["provider_silent", "no_event"]);
  }

  async function waitForChange(db: Db): Promise<void> {
    const principal = { account: { id: ann.id }, session: { id: ann.id } };
    const { opaqueTag: since } = serializeStatus(await requestStatus({ ...ctx(), db }, principal, {}, {}));
    await requestStatus({ ...ctx(), db, isDraining: true }, principal, { since, wait: 1 }, {});
  }

  async function readGauges(db: Db): Promise<void> {
    const registry = new prom.Registry();
    await createDatabaseGauges(prom, registry, billingGauges, { ...ctx(), db })();
    expect(await registry.metrics()).toContain("homeport_billing_renewals_due 0");
  }

  async function findCustomers(db: Db): Promise<void> {
    const ids = [(await storedEvent(bought.id))?.purchaseId ?? ""];
    const expected = [{ provider: "revenuecat", reference: ann.id }];
    expect(await findReferences(db, openSources({ billing: EVERY_API }), ids)).toEqual(expected);
  }
});

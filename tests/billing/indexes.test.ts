import { beforeAll, describe, expect, test } from "vitest";
import { listBillingEvents } from "@/lib/admin/billing/list-events";
import { prunePayloads } from "@/lib/admin/billing/prune-payloads";
import { replayEvents } from "@/lib/admin/billing/replay-events";
import { anonymizeBilling } from "@/lib/subscriptions/account-data/anonymize-billing";
import { exportBilling } from "@/lib/subscriptions/account-data/export-billing";
import { retryEvents } from "@/lib/subscriptions/inbox/retry-events";
import { readStatus } from "@/lib/subscriptions/read-status";
import { findAppUserIds } from "@/lib/subscriptions/reconcile/app-user-ids";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import {
  anonymous,
  billingEvent,
  deliverOk,
  initialPurchase,
  type Sent,
  storedEvent,
} from "@/tests/support/billing/billing";
import { ctx, withContext } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";

type Db = ReturnType<typeof ctx>["db"];

describe.runIf(postgresUrl)("on PostgreSQL an index serves", () => {
  let url: string;
  let ann: TestAccount;
  let bought: Sent;

  beforeAll(async () => {
    const [{ name } = { name: "" }] = await ctx().db.$queryRaw<{ name: string }[]>`SELECT current_database() AS name`;
    url = new URL(`/${name}`, postgresUrl).href;
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
    expect(await statementsWithoutIndex(url, (db) => withContext({ db }, deliveries))).toEqual([]);
  });

  test.each<[string, (db: Db) => Promise<unknown>]>([
    ["the retry of pending events", (db) => retryEvents({ ...ctx(), db })],
    ["the status of an account", (db) => readStatus({ ...ctx(), db }, ann.id)],
    ["the deletion of old payloads", (db) => prunePayloads({ ...ctx(), db }, 0)],
    ["an account's export", (db) => exportBilling(db, ann.id)],
    ["a list of events", (db) => listBillingEvents({ db }, { limit: 20 })],
    ["a list of an account's events", (db) => listBillingEvents({ db }, { accountId: ann.id, limit: 20 })],
    ["a list of unlinked events", (db) => listBillingEvents({ db }, { isUnlinked: true, limit: 20 })],
    ["a replay of all events", replayAll],
    ["the search for customers to reconcile", findCustomers],
    ["an account's deletion", (db) => db.$transaction((tx) => anonymizeBilling(tx, ann.id))],
  ])("%s", async (_, run) => {
    expect(await statementsWithoutIndex(url, run)).toEqual([]);
  });

  async function replayAll(db: Db): Promise<void> {
    for await (const { status } of replayEvents({ ...ctx(), db }, "all")) expect(status).not.toBe("failed");
  }

  async function findCustomers(db: Db): Promise<void> {
    expect(await findAppUserIds(db, [(await storedEvent(bought.id))?.purchaseId ?? ""])).toEqual([ann.id]);
  }
});

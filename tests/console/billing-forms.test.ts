import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { operatorWithRole } from "@/tests/support/console/operators";
import { ctx, emptyTables } from "@/tests/support/context";
import { anonymous, billingEvent, deliverOk, statusOf, storedEvent } from "@/tests/support/subscriptions/billing";
import { flashOf, submit } from "@/tests/support/web/forms";

const locationOf = (response: Response) => response.headers.get("location") ?? "";
const post = (form: string, fields: Record<string, string>, cookie: string) =>
  submit(`console/${form}`, fields, { cookie });

/** A failed event, whose payload was corrected since. Returns our id. */
async function mendedEvent(account: { id: string }): Promise<string> {
  const event = billingEvent("INITIAL_PURCHASE", { app_user_id: account.id });
  await deliverOk({ ...event, transaction_id: null, original_transaction_id: null });
  await ctx().db.billingEvent.updateMany({ where: { eventId: event.id }, data: { payload: { event } as object } });
  return (await storedEvent(event.id))?.id ?? "";
}

describe("the forms of the billing pages", () => {
  test("replay an event for an admin, with the reason in the audit trail", async () => {
    const ann = await newAccount();
    const id = await mendedEvent(ann);
    const admin = await operatorWithRole("admin");
    const replayed = await post("replayBillingEvent", { id, reason: "mended" }, admin.cookie);
    expect(locationOf(replayed)).toBe(`/console/billing/events/${id}?done=event_processed`);
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
    const audited = await ctx().db.auditEvent.findMany({ where: { target: `billing-event:${id}` } });
    expect(audited).toMatchObject([{ accountId: admin.id, details: { reason: "mended" } }]);
  });

  test("replay the failed events, and say how many failed again", async () => {
    await emptyTables();
    const { cookie } = await operatorWithRole("admin");
    await mendedEvent(await newAccount());
    await deliverOk(billingEvent("RENEWAL", { transaction_id: null, original_transaction_id: null }));
    const replayed = new URL(
      locationOf(await post("replayBillingEvents", { state: "failed" }, cookie)),
      "http://console",
    );
    expect(Object.fromEntries(replayed.searchParams)).toEqual({
      batch: "replays",
      share: "1.000",
      failures: "1",
      only: "failed",
    });
  });

  test("assign an unlinked purchase, and refuse what is no account's id and a missing reason", async () => {
    const { cookie } = await operatorWithRole("admin");
    const ann = await newAccount();
    const bought = billingEvent("INITIAL_PURCHASE", { app_user_id: anonymous() });
    await deliverOk(bought);
    const purchaseId = (await storedEvent(bought.id))?.purchaseId ?? "";
    const returnTo = `/console/billing/purchases/${purchaseId}`;
    const assign = (fields: object) => post("assignPurchases", { purchaseId, returnTo, ...fields }, cookie);
    for (const fields of [
      { accountId: "ann", reason: "x" },
      { accountId: ann.id },
      { accountId: purchaseId, reason: "x" },
    ]) {
      expect(flashOf(await assign(fields))).not.toBeNull();
    }
    expect(await statusOf(ann)).toMatchObject({ status: "none" });
    expect(locationOf(await assign({ accountId: ann.id.toUpperCase(), reason: "receipt" }))).toBe(
      `${returnTo}?done=assigned`,
    );
    expect(await statusOf(ann)).toMatchObject({ isActive: true });
  });

  test("say what is not configured", async () => {
    const { cookie } = await operatorWithRole("admin");
    expect(flashOf(await post("pruneBillingPayloads", {}, cookie))?.message).toContain(
      "BILLING_PAYLOAD_RETENTION_DAYS",
    );
    expect(flashOf(await post("reconcilePurchases", {}, cookie))?.message).toContain("BILLING_API_KEY");
  });
});

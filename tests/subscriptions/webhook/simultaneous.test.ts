import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { anonymous, billingEvent, deliverOk, type Sent, storedEvent } from "@/tests/support/subscriptions/billing";
import { ownerOf } from "@/tests/support/subscriptions/customers";
import { onRow, repair, whenProcessed } from "@/tests/support/subscriptions/faults";

/** The advisory lock that a paused transaction waits for. */
const LOCK = 20_261_124;

/** A row whose write is paused: PL/pgSQL over NEW. */
type Pause = { table: "BillingEvent" | "Purchase"; when: "INSERT" | "UPDATE"; row: string };

/** Delivers an event, whose transaction pauses where it writes a row, until `meanwhile` is done. */
async function deliverPaused(event: Sent, { table, when, row }: Pause, meanwhile: () => Promise<unknown>) {
  await onRow(when, `IF ${row} THEN PERFORM pg_advisory_xact_lock(${LOCK}); END IF;`, table);
  const { outcome } = await ctx().db.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT pg_advisory_xact_lock(${LOCK}::bigint)::text`;
      const outcome = deliverOk(event);
      await expect.poll(isWaiting).toBe(true);
      await meanwhile();
      return { outcome };
    },
    { timeout: 60_000 },
  );
  return outcome;
}

/** Delivers an event whose row is inserted only after `meanwhile`, when all that its transaction reads has been read. */
function deliverAround(event: Sent, meanwhile: () => Promise<unknown>): Promise<string> {
  return deliverPaused(
    event,
    { table: "BillingEvent", when: "INSERT", row: `NEW."eventId" = '${event.id}'` },
    meanwhile,
  );
}

/** Delivers an event that updates an earlier event's purchase: it is written only after `meanwhile`. */
function updateAround(earlier: Sent, event: Sent, meanwhile: () => Promise<unknown>): Promise<string> {
  const row = `NEW."originalTransactionId" = '${earlier.original_transaction_id}'`;
  return deliverPaused(event, { table: "Purchase", when: "UPDATE", row }, meanwhile);
}

afterEach(repair);

async function isWaiting(): Promise<boolean> {
  const [row] = await ctx().db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted`;
  return row?.count === 1;
}

/** A purchase by a customer who has no account, a minute ago. */
const boughtBy = (device: string) =>
  billingEvent("INITIAL_PURCHASE", {
    app_user_id: device,
    original_app_user_id: device,
    aliases: [],
    event_timestamp_ms: clock.now().getTime() - 60_000,
  });

describe.runIf(postgresUrl)("while an event is being stored on PostgreSQL", () => {
  test("a transfer from its customer arrives: the purchase belongs to the new owner", async () => {
    const [bob, device] = [await newAccount(), anonymous()];
    const bought = boughtBy(device);
    const transfer = billingEvent("TRANSFER", { transferred_from: [device], transferred_to: [bob.id] });
    expect(await deliverAround(bought, () => deliverOk(transfer))).toBe("processed");
    expect(await ownerOf(bought)).toBe(bob.id);
  });

  test.each(["SUBSCRIBER_ALIAS", "INITIAL_PURCHASE"])(
    "an event of type %s links its customer to an account: the purchase belongs to the account",
    async (type) => {
      const [ann, device] = [await newAccount(), anonymous()];
      const bought = billingEvent("INITIAL_PURCHASE", { app_user_id: device, aliases: [device] });
      const alias = billingEvent(type, { app_user_id: ann.id, aliases: [device] });
      expect(await deliverAround(bought, () => deliverOk(alias))).toBe("processed");
      expect(await ownerOf(bought)).toBe(ann.id);
    },
  );

  test.each([
    ["names its original transaction, another that does not", false],
    ["does not name its original transaction, another that does", true],
  ])("that %s arrives: they are one purchase", async (_, reversed) => {
    const [original, renewal] = [randomUUID(), randomUUID()];
    const events = [
      billingEvent("CANCELLATION", { transaction_id: renewal, original_transaction_id: original }),
      billingEvent("RENEWAL", { transaction_id: renewal, original_transaction_id: null }),
    ];
    const [paused, other] = (reversed ? events.toReversed() : events) as [Sent, Sent];
    expect(await deliverAround(paused, () => deliverOk(other))).toBe("processed");
    const [first, second] = [await storedEvent(paused.id), await storedEvent(other.id)];
    expect(first?.purchaseId).toBe(second?.purchaseId);
    expect(first?.purchase?.originalTransactionId).toBe(original);
  });

  test("another event of its new purchase arrives: the purchase has both", async () => {
    const bought = billingEvent("INITIAL_PURCHASE");
    const canceled = billingEvent("CANCELLATION", {
      original_transaction_id: bought.original_transaction_id,
      event_timestamp_ms: clock.now().getTime() + 1000,
    });
    const outcome = deliverAround(bought, () => deliverOk(canceled));
    expect(await outcome).toBe("processed");
    const [first, second] = [await storedEvent(bought.id), await storedEvent(canceled.id)];
    expect(first?.purchaseId).toBe(second?.purchaseId);
    expect(first?.purchase?.unsubscribedAt).toEqual(second?.occurredAt);
  });
});

describe.runIf(postgresUrl)("while a purchase is being given to another customer on PostgreSQL", () => {
  test("by a transfer, an event links that customer to an account: the purchase belongs to the account", async () => {
    const [ann, from, to] = [await newAccount(), anonymous(), anonymous()];
    const bought = boughtBy(from);
    await deliverOk(bought);
    const transfer = billingEvent("TRANSFER", { transferred_from: [from], transferred_to: [to] });
    const link = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id, aliases: [to] });
    expect(await updateAround(bought, transfer, () => deliverOk(link))).toBe("processed");
    expect(await ownerOf(bought)).toBe(ann.id);
  });

  test.each(["SUBSCRIBER_ALIAS", "INITIAL_PURCHASE"])(
    "by an alias in an event of type %s, another event links the alias to an account: the purchase belongs to it",
    async (type) => {
      const [ann, device, alias] = [await newAccount(), anonymous(), anonymous()];
      const bought = boughtBy(device);
      await deliverOk(bought);
      const first = billingEvent(type, { app_user_id: device, original_app_user_id: device, aliases: [alias] });
      const second = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id, aliases: [alias] });
      expect(await updateAround(bought, first, () => deliverOk(second))).toBe("processed");
      expect(await ownerOf(bought)).toBe(ann.id);
    },
  );

  test("by a transfer that failed before, another purchase of the customer arrives: both have the new owner", async () => {
    const [bob, device] = [await newAccount(), anonymous()];
    const [known, bought] = [boughtBy(device), boughtBy(device)];
    await deliverOk(known);
    const transfer = billingEvent("TRANSFER", { transferred_from: [device], transferred_to: [bob.id] });
    await onRow("UPDATE", whenProcessed(transfer, "RAISE division_by_zero;"));
    expect(await deliverOk(transfer)).toBe("failed");
    await repair();
    let arrived: Promise<string> | undefined;
    const meanwhile = async () => {
      arrived = deliverOk(bought);
      await expect.poll(() => storedEvent(bought.id)).not.toBeNull();
    };
    expect(await updateAround(known, transfer, meanwhile)).toBe("processed");
    expect(await arrived).toBe("processed");
    expect([await ownerOf(known), await ownerOf(bought)]).toEqual([bob.id, bob.id]);
  });
});

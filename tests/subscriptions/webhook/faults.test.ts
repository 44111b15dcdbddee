import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { anonymizeBilling } from "@/lib/subscriptions/anonymize-billing";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";
import { countLockWaits, postgresUrl } from "@/tests/support/database";
import {
  billingEvent,
  DAY_MS,
  deliverOk,
  deliverRaw,
  revokingRefund,
  signature,
  statusOf,
  storedEvent,
} from "@/tests/support/subscriptions/billing";
import { onRow, repair, whenProcessed } from "@/tests/support/subscriptions/faults";

test("a recorded delivery that is replayed changes nothing", async () => {
  const ann = await newAccount();
  const purchase = { app_user_id: ann.id, original_transaction_id: randomUUID() };
  const body = JSON.stringify({ event: billingEvent("INITIAL_PURCHASE", purchase) });
  const headers = { "x-revenuecat-webhook-signature": signature(body) };
  expect((await deliverRaw(body, headers)).status).toBe(200);
  clock.advance(1000);
  await deliverOk(billingEvent("CANCELLATION", { ...purchase, ...revokingRefund() }));
  expect(await (await deliverRaw(body, headers)).json()).toMatchObject({ status: "duplicate" });
  expect(await statusOf(ann)).toMatchObject({ status: "revoked", isActive: false });
  clock.advance(300_000);
  expect((await deliverRaw(body, headers)).status).toBe(401);
});

test("hundreds of events of one purchase are folded as one", async () => {
  const ann = await newAccount();
  const first = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
  await deliverOk(first);
  const { id: _, eventId: __, payload: ___, purchase, facts: stored, ...row } = (await storedEvent(first.id)) ?? {};
  const start = clock.now().getTime();
  const facts = stored as Record<string, unknown>;
  await ctx().db.billingEvent.createMany({
    data: Array.from({ length: 298 }, (_, i) => {
      const at = new Date(start + i * 1000);
      const said = { ...facts, occurredAt: at, purchasedAt: at, expiresAt: new Date(at.getTime() + DAY_MS) };
      return { ...row, eventId: randomUUID(), type: "RENEWAL", occurredAt: at, facts: said } as never;
    }),
  });
  clock.advance(298_000);
  const last = billingEvent("RENEWAL", {
    app_user_id: ann.id,
    original_transaction_id: first.original_transaction_id,
    purchased_at_ms: start + 298_000,
    expiration_at_ms: start + 298_000 + DAY_MS,
  });
  expect(await deliverOk(last)).toBe("processed");
  expect(await ctx().db.billingEvent.count({ where: { purchaseId: purchase?.id ?? "" } })).toBe(300);
  expect(await statusOf(ann)).toMatchObject({
    status: "active",
    startedAt: new Date(first.purchased_at_ms as number).toISOString(),
    currentPeriodEndsAt: new Date(start + 298_000 + DAY_MS).toISOString(),
  });
});

test("a clock that jumps back and forth loses no event and changes no order", async () => {
  const ann = await newAccount();
  const purchase = { app_user_id: ann.id, original_transaction_id: randomUUID() };
  const now = clock.now().getTime();
  const at = (minutes: number) => ({ event_timestamp_ms: now + minutes * 60_000, purchased_at_ms: now });
  await deliverOk(billingEvent("INITIAL_PURCHASE", { ...purchase, ...at(0) }));
  clock.advance(-20 * 60 * 60 * 1000);
  await deliverOk(billingEvent("CANCELLATION", { ...purchase, ...at(1), cancel_reason: "UNSUBSCRIBE" }));
  clock.advance(40 * 60 * 60 * 1000);
  await deliverOk(billingEvent("UNCANCELLATION", { ...purchase, ...at(2) }));
  clock.advance(-20 * 60 * 60 * 1000);
  expect(await statusOf(ann)).toMatchObject({ status: "active", willRenew: true, canceledAt: null });
});

describe("an event of a deleted account is stored without its email, its id and an account", () => {
  /** An account's purchase, and an event of it that arrives late. */
  async function bought() {
    const account = await newAccount();
    const purchase = { app_user_id: account.id, aliases: [account.email], original_transaction_id: randomUUID() };
    const before = billingEvent("INITIAL_PURCHASE", purchase);
    await deliverOk(before);
    const personal = { $email: { value: account.email }, $phoneNumber: { value: "+49 30 5550177" } };
    return { account, before, after: billingEvent("RENEWAL", { ...purchase, subscriber_attributes: personal }) };
  }

  const remove = ({ password, token }: TestAccount) =>
    post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });

  async function expectNothingPersonal({ account, before, after }: Awaited<ReturnType<typeof bought>>) {
    const [first, last] = [await storedEvent(before.id), await storedEvent(after.id)];
    expect(last).toMatchObject({ accountId: null, purchase: { id: first?.purchaseId, accountId: null } });
    for (const value of [account.id, account.email, "5550177"]) {
      expect(JSON.stringify([first, last])).not.toContain(value);
    }
  }

  afterEach(repair);

  test("if it comes late", async () => {
    const given = await bought();
    await remove(given.account);
    expect(await deliverOk(given.after)).toBe("processed");
    await expectNothingPersonal(given);
  });

  test("if its batch fails, so that it is stored alone", async () => {
    const given = await bought();
    await remove(given.account);
    const poison = billingEvent("INITIAL_PURCHASE");
    await onRow("INSERT OR UPDATE", whenProcessed(poison, "RAISE EXCEPTION 'poison';"));
    expect(await Promise.all([poison, given.after].map(deliverOk))).toEqual(["failed", "processed"]);
    await expectNothingPersonal(given);
  });

  test.runIf(postgresUrl)("if it waits for the deletion", async () => {
    const given = await bought();
    let delivery: Promise<unknown> | undefined;
    await ctx().db.$transaction(async (tx) => {
      await anonymizeBilling(tx, given.account.id);
      delivery = deliverOk(given.after);
      await expect.poll(() => countLockWaits(ctx().db)).toBe(1);
      await tx.account.delete({ where: { id: given.account.id } });
    });
    expect(await delivery).toBe("processed");
    await expectNothingPersonal(given);
  });
});

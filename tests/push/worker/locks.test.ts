import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { cancelDeliveries } from "@/lib/push/admin/cancel";
import { enqueue } from "@/lib/push/outbox/enqueue";
import { removeAccountReceipts } from "@/lib/push/outbox/receipts";
import { type ClaimedPush, claimDeliveries } from "@/lib/push/worker/claim-deliveries";
import { recordOutcomes } from "@/lib/push/worker/outcomes";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { accountWithDevices, clearOutbox, newToken, queueFor } from "@/tests/support/push/push";

beforeEach(clearOutbox);

async function claimOne(): Promise<ClaimedPush> {
  const { deliveries } = await claimDeliveries(ctx(), { notBefore: new Date(0), limit: 1 });
  return deliveries[0] as ClaimedPush;
}

const SENT = { apnsStatus: 200, reason: null, state: "sent" } as const;

// An outcome skips what is locked: what a worker is sending has to stay free until it records that.
describe.runIf(postgresUrl)("on PostgreSQL a delivery that is sent is recorded", () => {
  test("while an outcome of a claim that no longer holds is being recorded", async () => {
    const { rows } = await queueFor(1);
    const row = await claimOne();
    const expired = { ...row, leaseUntil: new Date(row.leaseUntil.getTime() - 1_000) };
    await ctx().db.$transaction(async (tx) => {
      const db = tx as Context["db"];
      await recordOutcomes({ ...ctx(), db }, [{ row: expired, apnsStatus: 400, reason: "BadPath", state: "failed" }]);
      await recordOutcomes(ctx(), [{ row, ...SENT }]);
    });
    expect(await rows()).toMatchObject([{ state: "sent" }]);
  });

  test("while its message is being canceled", async () => {
    const { rows } = await queueFor(1);
    const row = await claimOne();
    await ctx().db.$transaction(async (tx) => {
      expect(await cancelDeliveries(tx, ctx(), row.messageId)).toMatchObject({ isLeft: true });
      await recordOutcomes(ctx(), [{ row, ...SENT }]);
    });
    expect(await rows()).toMatchObject([{ state: "sent" }]);
  });
});

test.runIf(postgresUrl)("a device is notified while its token is being replaced", async () => {
  const [account, device] = await accountWithDevices(1);
  const message = { kind: "custom", title: "A title", body: "A body", link: null } as const;
  const event = { eventKey: `test:${randomUUID()}`, to: { accountId: account.id }, message };
  await ctx().db.$transaction(async (tx) => {
    await tx.pushDevice.update({ where: { id: device?.id ?? "" }, data: { token: newToken() } });
    expect(await ctx().db.$transaction((other) => enqueue(other, ctx().dbNow(), event))).toBe(1);
  });
});

test.runIf(postgresUrl)("a delivery that is sent while its account is being deleted leaves no receipt", async () => {
  const { account, devices } = await queueFor(1);
  const row = await claimOne();
  await ctx().db.$transaction(async (tx) => {
    await removeAccountReceipts(tx, account.id);
    await recordOutcomes(ctx(), [{ row, ...SENT }]);
    await tx.account.delete({ where: { id: account.id } });
  });
  expect(await ctx().db.pushReceipt.count({ where: { deviceId: devices[0]?.id ?? "" } })).toBe(0);
});

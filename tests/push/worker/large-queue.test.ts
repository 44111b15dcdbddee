import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { enqueue } from "@/lib/push/outbox/enqueue";
import { claimDeliveries } from "@/lib/push/worker/claim-deliveries";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import { createSender, type SenderDeps } from "@/lib/push/worker/sender";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { accountWithDevices, clearOutbox, deliverDue, queueFor, recordingPush } from "@/tests/support/push/push";

const QUEUED = 1_000_000;
/** A statement has a time limit. */
const PER_STATEMENT = 100_000;
const MAX_BATCH = 1_000;

beforeEach(clearOutbox);

/** Makes the planner believe that the queue is empty, as after the last announcement, and keeps autovacuum from it. */
async function analyzeDrainedQueue(deviceId: string): Promise<void> {
  const { db } = ctx();
  await db.$executeRaw`ALTER TABLE "QueuedPush" SET (autovacuum_enabled = off)`;
  await queueAnnouncements(deviceId, PER_STATEMENT);
  await db.queuedPush.deleteMany();
  await db.$executeRaw`ANALYZE "QueuedPush"`;
}

/** Queues announcements to a device, half of which are due. */
async function queueAnnouncements(deviceId: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= PER_STATEMENT) await queueSome(deviceId, Math.min(left, PER_STATEMENT));
}

async function queueSome(deviceId: string, count: number): Promise<void> {
  await ctx().db.$executeRaw`
    INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority")
    SELECT ${deviceId}::uuid, gen_random_uuid(), gen_random_uuid(), ${ctx().now()}::timestamptz + (n - ${count}::int / 2) * interval '1 ms',
      ${ctx().now()}::timestamptz + interval '7 days', 2
    FROM generate_series(1, ${count}::int) AS n`;
}

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  test("a security notification is the first of 1,000,000 in a queue that was empty when it was analyzed", async () => {
    const [account, device] = await accountWithDevices(1);
    await analyzeDrainedQueue(device?.id ?? "");
    await queueAnnouncements(device?.id ?? "", QUEUED);
    const message = { kind: "security.new_sign_in", eventId: randomUUID(), client: "Safari" } as const;
    const event = { eventKey: `test:${randomUUID()}`, to: { accountId: account.id }, message };
    await ctx().db.$transaction((tx) => enqueue(tx, ctx().dbNow(), event));
    const { push, sent } = recordingPush();
    const sender = createSender({ ...(ctx() as SenderDeps), push });
    expect(await sender.claimAndSend()).toBe(MAX_BATCH);
    await sender.finish();
    expect(sent).toMatchObject([{ payload: { data: { kind: "security.new_sign_in" } } }]); // the others have no message
    const left = await ctx().db.queuedPush.count();
    expect(QUEUED + 1 - left).toBeLessThanOrEqual(2 * MAX_BATCH); // what one worker holds in memory
    await ctx().db.$executeRaw`TRUNCATE "QueuedPush", "PushReceipt"`;
    await ctx().db.$executeRaw`ALTER TABLE "QueuedPush" RESET (autovacuum_enabled)`;
  });

  test("an index serves every statement of the worker", async () => {
    await queueFor(3);
    const run = async (db: ReturnType<typeof ctx>["db"]) => {
      await deliverDue({ db, push: recordingPush().push });
      await queueFor(2);
      await deliverDue({ db, push: recordingPush(async () => ({ status: 503, reason: null })).push });
      await deliverDue({ db, push: recordingPush(async () => ({ status: 400, reason: "BadDeviceToken" })).push });
      await claimDeliveries({ ...ctx(), db }, { notBefore: new Date(0), limit: 10 });
      await maintainOutbox({ ...ctx(), db });
    };
    expect(await statementsWithoutIndex(run)).toEqual([]);
  });
});

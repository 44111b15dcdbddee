import type { Context } from "../context";
import { isSecret, type Outgoing, objectionTo, toNotification } from "./notifications";

type Deps = Pick<Context, "count" | "db" | "log" | "now"> & { push: NonNullable<Context["push"]> };
type Result = Awaited<ReturnType<Deps["push"]["send"]>>;

const LEASE_MS = 60 * 1000;
const RETRY_MS = 5 * 1000;
const DELIVERED = 200;

/**
 * Sends outbox rows once their transaction has committed. Never throws: a row that was not reached stays
 * queued, and one that was cut short comes free when its lease ends.
 */
export async function deliverSoon(ctx: Deps, deliveryIds: readonly string[]): Promise<void> {
  for (const id of deliveryIds) {
    await deliver(ctx, id).catch((error: unknown) => ctx.log.error({ err: error, id }, "notification not delivered"));
  }
}

async function deliver(ctx: Deps, id: string): Promise<void> {
  const row = await claim(ctx, id);
  if (!row) return;
  const objection = objectionTo(row, ctx.now());
  if (objection) return settle(ctx, row, { state: "cancelled", reason: objection });
  const result = await send(ctx, row);
  if (!result) return retryLater(ctx, row);
  if (result.status === DELIVERED) return settleDelivered(ctx, row);
  ctx.log.warn({ id, deviceId: row.deviceId, ...result }, "notification refused");
  await settle(ctx, row, { state: "failed", reason: result.reason, apnsStatus: result.status });
}

/** Takes a queued row, in one statement with what its device is by now; null where another has it or it is gone. */
async function claim({ db, now }: Deps, id: string): Promise<Outgoing | null> {
  const leaseUntil = new Date(now().getTime() + LEASE_MS);
  const [row] = await db.$queryRaw<Outgoing[]>`
    UPDATE "PushDelivery" AS delivery SET "state" = 'sending', "leaseUntil" = ${leaseUntil}
    FROM "PushDevice" AS device
    WHERE delivery."id" = ${id}::uuid AND delivery."state" = 'queued' AND device."id" = delivery."deviceId"
    RETURNING delivery."id", delivery."deviceId", delivery."kind", delivery."payload", delivery."priority",
      delivery."collapseId", delivery."expiresAt", device."token", device."environment"::text,
      device."bundleId", device."status"::text`;
  return row ?? null;
}

/** null: APNs could not be asked. */
async function send({ push, log }: Deps, row: Outgoing): Promise<Result | null> {
  try {
    return await push.send(toNotification(row));
  } catch (error) {
    log.warn({ err: error, id: row.id, deviceId: row.deviceId }, "notification not sent");
    return null;
  }
}

async function retryLater({ count, db, now }: Deps, { id }: Outgoing): Promise<void> {
  await db.pushDelivery.updateMany({
    where: { id, state: "sending" },
    data: {
      state: "queued",
      leaseUntil: null,
      attempts: { increment: 1 },
      nextAttemptAt: new Date(now().getTime() + RETRY_MS),
    },
  });
  count("push_delivery", { result: "retried" });
}

type Settled = { state: "cancelled" | "failed"; reason: string | null; apnsStatus?: number };

async function settle(
  { count, db }: Deps,
  { id, kind }: Outgoing,
  { state, reason, apnsStatus }: Settled,
): Promise<void> {
  await db.pushDelivery.updateMany({
    where: { id, state: "sending" },
    data: {
      state,
      reason,
      apnsStatus,
      leaseUntil: null,
      attempts: { increment: apnsStatus === undefined ? 0 : 1 },
      ...(isSecret(kind) ? { payload: {} } : {}),
    },
  });
  count("push_delivery", { result: state });
}

/** The device's row goes first, in the order in which its deletion takes the locks. */
async function settleDelivered({ count, db, now }: Deps, { id, deviceId, kind }: Outgoing): Promise<void> {
  const at = now();
  await db.$executeRaw`
    WITH device AS (
      UPDATE "PushDevice" SET "lastDeliveredAt" = ${at} WHERE "id" = ${deviceId}::uuid RETURNING "id"
    )
    UPDATE "PushDelivery" AS delivery
    SET "state" = 'sent', "apnsStatus" = ${DELIVERED}, "sentAt" = ${at}, "leaseUntil" = NULL,
      "attempts" = "attempts" + 1,
      "payload" = CASE WHEN ${isSecret(kind)} THEN '{}'::jsonb ELSE "payload" END
    FROM device
    WHERE delivery."id" = ${id}::uuid AND delivery."deviceId" = device."id" AND delivery."state" = 'sending'`;
  count("push_delivery", { result: "sent" });
}

import { randomUUID } from "node:crypto";
import type { Context } from "../context";
import type { PushDeliveryState, PushPause } from "../db/generated/client";
import { SECRET_KINDS } from "../push/notifications";
import { enqueue, enqueueBroadcast } from "../push/outbox";
import { PAUSED } from "../push/worker/outcomes";

type Deps = Pick<Context, "db" | "dbNow">;

/** Bounds how long a statement locks its rows. */
const MAX_ROWS_PER_STATEMENT = 10_000;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

type CustomNotification = { accountId: string; title: string; body: string; link: string | null };
type Announcement = { version: string; bundleId?: string | null; perSecond: number };
type Batch = Parameters<typeof enqueueBroadcast>[2]["to"];
type RetryResult = { resumed: number; retried: number };

/**
 * Queues a notification with custom text for an account's devices. Returns the number of devices.
 * @throws RangeError for a payload over 4,096 bytes
 */
export function sendCustomNotification(
  { db, dbNow }: Deps,
  { accountId, ...text }: CustomNotification,
): Promise<number> {
  const eventKey = `custom:${randomUUID()}`;
  const message = { kind: "custom", ...text } as const;
  return db.$transaction((tx) => enqueue(tx, dbNow(), { eventKey, to: { accountId }, message }));
}

/**
 * Queues the announcement of a version for every device, or every device of one app, and returns the number of devices.
 * `perSecond` devices are due per second, so that other notifications do not wait and clients do not all update at once.
 * Each device is notified of a version once, so an interrupted call can be repeated.
 */
export async function announceVersion(
  { db, dbNow }: Deps,
  { version, bundleId = null, perSecond }: Announcement,
): Promise<number> {
  const [{ startedAt } = { startedAt: new Date() }] = await db.$queryRaw<{ startedAt: Date }[]>`
    SELECT ${dbNow()} AS "startedAt"`;
  let added = 0;
  let afterDeviceId: string | null = NIL_ID;
  while (afterDeviceId !== null) {
    const from = new Date(startedAt.getTime() + (added / perSecond) * 1000);
    const to: Batch = { afterDeviceId, bundleId, limit: MAX_ROWS_PER_STATEMENT, from, perSecond };
    const message = { kind: "app.new_version", version } as const;
    const event = { eventKey: `version:${version}`, to, message };
    const batch = await db.$transaction((tx) => enqueueBroadcast(tx, dbNow(), event));
    added += batch.added;
    afterDeviceId = batch.lastDeviceId;
  }
  return added;
}

/** Returns the newest deliveries, without their payloads. */
export function listDeliveries(
  { db }: Pick<Deps, "db">,
  { accountId, state, limit }: { accountId?: string; state?: PushDeliveryState; limit: number },
) {
  return db.pushDelivery.findMany({
    where: { state, device: accountId === undefined ? undefined : { accountId } },
    omit: { payload: true, leaseUntil: true, collapseId: true, priority: true },
    orderBy: { id: "desc" },
    take: limit,
  });
}

/** Returns the pauses of APNs environments. */
export function listPauses({ db, dbNow }: Deps) {
  return db.$queryRaw<PushPause[]>`
    SELECT "environment"::text, "until", "reason" FROM "PushPause" WHERE "until" > ${dbNow()} ORDER BY "environment"`;
}

/**
 * Ends all pauses and requeues the deliveries that waited for them, and the failed ones that have not expired, or only
 * those with the given ids. Returns the number of each. Devices that APNs reported as invalid stay invalid.
 */
export async function retryDeliveries(deps: Deps, ids: readonly string[] = []): Promise<RetryResult> {
  const resumed = await endPauses(deps);
  let retried = 0;
  for (let rows = MAX_ROWS_PER_STATEMENT; rows === MAX_ROWS_PER_STATEMENT; retried += rows)
    rows = await retryFailed(deps, ids);
  return { resumed, retried };
}

/**
 * Deletes the pauses in a statement of its own. It waits for the workers that are storing deliveries to wait for a pause,
 * and later workers find none, so the statements after it see every row. Goes by id, so that each row is requeued once,
 * even if APNs pauses again meanwhile.
 */
async function endPauses({ db, dbNow }: Deps): Promise<number> {
  await db.pushPause.deleteMany();
  let resumed = 0;
  for (let afterId: string | null = NIL_ID; afterId !== null; ) {
    const [batch]: { rows: number; lastId: string | null }[] = await db.$queryRaw`
      WITH waiting AS MATERIALIZED (
        SELECT "id" FROM "PushDelivery"
        WHERE "id" > ${afterId}::uuid AND "state" = 'queued' AND "reason" = ${PAUSED} AND "nextAttemptAt" > ${dbNow()}
        ORDER BY "id" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE
      ), resumed AS (
        UPDATE "PushDelivery" AS delivery SET "nextAttemptAt" = ${dbNow()}
        FROM waiting WHERE delivery."id" = waiting."id" RETURNING 1
      )
      SELECT (SELECT count(*)::int FROM resumed) AS "rows",
        (SELECT "id" FROM waiting ORDER BY "id" DESC LIMIT 1) AS "lastId"`;
    resumed += batch?.rows ?? 0;
    afterId = batch?.lastId ?? null;
  }
  return resumed;
}

/** The payloads of secret kinds were deleted, so those cannot be sent again. */
async function retryFailed({ db, dbNow }: Deps, ids: readonly string[]): Promise<number> {
  return db.$executeRaw`
    UPDATE "PushDelivery" SET "state" = 'queued', "attempts" = 0, "nextAttemptAt" = ${dbNow()}
    WHERE "id" IN (
      SELECT "id" FROM "PushDelivery"
      WHERE "state" = 'failed' AND "expiresAt" > ${dbNow()} AND "kind" <> ALL(${SECRET_KINDS})
        AND (${ids.length === 0} OR "id" = ANY(${ids}::uuid[]))
      LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
    )`;
}

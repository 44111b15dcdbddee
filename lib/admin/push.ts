import { randomUUID } from "node:crypto";
import type { Context } from "../context";
import type { PushDeliveryState, PushPause } from "../db/generated/client";
import { SECRET_KINDS } from "../push/notifications";
import { enqueue, enqueueBroadcast } from "../push/outbox";
import { PAUSED } from "../push/worker/outcomes";

type Deps = Pick<Context, "db" | "dbNow">;

/** So many rows a statement: a million at once would hold their devices for half a minute. */
const MAX_ROWS_PER_STATEMENT = 10_000;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

type CustomNotification = { accountId: string; title: string; body: string; link: string | null };

/**
 * Tells an account's devices something in one's own words. Returns how many devices.
 * @throws RangeError over 4,096 bytes of payload
 */
export function sendCustomNotification(
  { db, dbNow }: Deps,
  { accountId, ...words }: CustomNotification,
): Promise<number> {
  const eventKey = `custom:${randomUUID()}`;
  return enqueue(db, dbNow(), { eventKey, to: { accountId }, message: { kind: "custom", ...words } });
}

/**
 * Tells every device of a version, so many devices a second: what else there is to send does not wait for it, and
 * neither do all clients ask for the update at once. Whoever was told before is not told again, so it may be broken
 * off and repeated. `bundleId`: just the devices of that app. Returns how many devices.
 */
export async function announceVersion(
  { db, dbNow }: Deps,
  { version, bundleId = null, perSecond }: { version: string; bundleId?: string | null; perSecond: number },
): Promise<number> {
  const [{ startedAt } = { startedAt: new Date() }] = await db.$queryRaw<{ startedAt: Date }[]>`
    SELECT ${dbNow()} AS "startedAt"`;
  let told = 0;
  for (let afterDeviceId: string | null = NIL_ID; afterDeviceId !== null; ) {
    const from = new Date(startedAt.getTime() + (told / perSecond) * 1000);
    const to = { afterDeviceId, bundleId, most: MAX_ROWS_PER_STATEMENT, from, perSecond };
    const message = { kind: "app.new_version", version } as const;
    const chunk = await enqueueBroadcast(db, dbNow(), { eventKey: `version:${version}`, to, message });
    told += chunk.added;
    afterDeviceId = chunk.lastDeviceId;
  }
  return told;
}

/** The newest notifications, without what they say. */
export function listDeliveries(
  { db }: Pick<Deps, "db">,
  { accountId, state, most }: { accountId?: string; state?: PushDeliveryState; most: number },
) {
  return db.pushDelivery.findMany({
    where: { state, device: accountId === undefined ? undefined : { accountId } },
    omit: { payload: true, leaseUntil: true, collapseId: true, priority: true },
    orderBy: { id: "desc" },
    take: most,
  });
}

/** The environments of APNs that nothing is sent to at the moment. */
export function listPauses({ db, dbNow }: Deps) {
  return db.$queryRaw<PushPause[]>`
    SELECT "environment"::text, "until", "reason" FROM "PushPause" WHERE "until" > ${dbNow()} ORDER BY "environment"`;
}

/**
 * Ends all pauses, and queues again what waited for them and what has failed: all that has not expired, or just the
 * given rows. Returns how many rows of each. What APNs said of a device stays as it is.
 */
export async function retryDeliveries(deps: Deps, ids: readonly string[] = []): Promise<RetryResult> {
  const resumed = await endPauses(deps);
  let retried = 0;
  for (let rows = MAX_ROWS_PER_STATEMENT; rows === MAX_ROWS_PER_STATEMENT; retried += rows)
    rows = await retryFailed(deps, ids);
  return { resumed, retried };
}
type RetryResult = { resumed: number; retried: number };

/**
 * The rows by statements of their own: a worker that is writing that some wait holds the pause until it has done so,
 * and one that comes later finds no pause any more. So none is left behind. Each row once, by its id: where APNs refuses
 * again at once, the rows wait for the new pause.
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

/** A secret that was forgotten cannot be told again. */
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

import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { readDatabaseTime } from "../../platform/db/clock";
import { NIL_ID } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { countRows } from "../../platform/lists";
import type { Operator } from "../../principal";
import { PAUSED } from "../worker/outcomes";
import type { PauseParams, PushPause } from "./schema";

type Deps = Pick<Context, "db" | "dbNow">;
type Environment = PauseParams["environment"];

/** Bounds how long a statement locks its rows. */
const MAX_ROWS_PER_STATEMENT = 10_000;

/** Returns the pauses of APNs environments. */
export async function listPauses({ db, dbNow }: Deps): Promise<{ pauses: PushPause[] }> {
  const until = { gt: await readDatabaseTime({ db, dbNow }) };
  return { pauses: await db.pushPause.findMany({ where: { until }, orderBy: { environment: "asc" } }) };
}

/** Counts the deliveries that wait for the end of a pause: `MAX_COUNTED` at most. */
export function countPaused({ db, dbNow }: Deps, environment: Environment): Promise<number> {
  return countRows(
    db,
    sql`SELECT 1 FROM "QueuedPush" AS queued JOIN "PushDevice" AS device ON device."id" = queued."deviceId"
      WHERE ${isPaused(dbNow, environment)}`,
  );
}

/** Whether a queued delivery to a device waits for the end of a pause. */
const isPaused = (dbNow: Deps["dbNow"], environment: Environment | undefined) => sql`
  "leaseUntil" IS NULL AND "reason" = ${PAUSED} AND "nextAttemptAt" > ${dbNow()}
  AND ${environment ? sql`device."environment" = ${environment}::"PushEnvironment"` : sql`true`}`;

/**
 * Ends the pause of an APNs environment, and makes the deliveries due that waited for it. Returns how many.
 * @throws AppError not_found if it is not paused
 */
export async function endPause(
  deps: Deps & Pick<Context, "now" | "wakePush">,
  operator: Operator,
  { environment }: PauseParams,
): Promise<{ resumed: number }> {
  const { pauses } = await listPauses(deps);
  const pause = pauses.find((one) => one.environment === environment);
  if (!pause) throw new AppError("not_found");
  const record = (tx: Tx, resumed: number) => {
    const details = { environment, reason: pause.reason, until: pause.until.toISOString(), resumed };
    const event = { type: "push_pause_ended", target: `push:${environment}`, details } as const;
    return recordOperatorEvent(tx, deps.now(), operator, event);
  };
  const resumed = await endPauses(deps, record, environment);
  deps.wakePush();
  return { resumed };
}

type Key = { deviceId: string; messageId: string };

/**
 * Deletes the pauses, or that of one environment, in a statement of its own. It waits for the workers that are storing
 * deliveries to wait for a pause, and later workers find none, so the statements after it see every row. Goes by key, so
 * that each row is requeued once, even if APNs pauses again in the meantime. `record` runs in each transaction that changes
 * something, with the number of its rows. Returns the number of rows.
 */
export async function endPauses(
  { db, dbNow }: Deps,
  record: (tx: Tx, resumed: number) => Promise<void>,
  environment?: Environment,
): Promise<number> {
  let resumed = 0;
  let isFirst = true;
  for (let after: Key | undefined = { deviceId: NIL_ID, messageId: NIL_ID }; after; isFirst = false) {
    const from: Key = after;
    const rows = await db.$transaction(async (tx) => {
      const { count: ended } = isFirst
        ? await tx.pushPause.deleteMany({ where: environment ? { environment } : {} })
        : { count: 0 };
      const batch = await resumeBatch(tx, dbNow, environment, from);
      if (ended > 0 || batch.length > 0) await record(tx, batch.length);
      return batch;
    });
    resumed += rows.length;
    after = rows.at(-1);
  }
  return resumed;
}

/** Makes the next deliveries due that wait for a pause. */
function resumeBatch(tx: Tx, dbNow: Deps["dbNow"], environment: Environment | undefined, after: Key): Promise<Key[]> {
  return tx.$queryRaw`
    WITH waiting AS MATERIALIZED (
      SELECT queued."deviceId", "messageId" FROM "QueuedPush" AS queued
      JOIN "PushDevice" AS device ON device."id" = queued."deviceId"
      WHERE (queued."deviceId", "messageId") > (${after.deviceId}::uuid, ${after.messageId}::uuid)
        AND ${isPaused(dbNow, environment)}
      ORDER BY queued."deviceId", "messageId" LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE OF queued
    ), resumed AS (
      UPDATE "QueuedPush" AS queued SET "nextAttemptAt" = ${dbNow()}
      FROM waiting WHERE queued."deviceId" = waiting."deviceId" AND queued."messageId" = waiting."messageId"
    )
    SELECT * FROM waiting ORDER BY "deviceId", "messageId"`;
}

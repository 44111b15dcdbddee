import type { Context } from "../../context";
import type { Prisma } from "../../db/generated/client";
import { NIL_ID } from "../../db/ids";
import { leaseExpired } from "../../db/queue/lease-expiry";
import { sql } from "../../db/sql";
import { QueuePriority } from "../notifications";
import { queuePriorityOf } from "./rows";

type Deps = Pick<Context, "db" | "dbNow">;

const MAX_ROWS_PER_STATEMENT = 5_000;
const MAX_STATEMENTS = 10;

/**
 * Moves the rows of `PushDelivery`, the outbox of version 1.0, to the tables that replace it, in batches. Instances of
 * that version may still insert and send such rows during an upgrade: those that they are sending stay until their lease
 * expires. The table can be dropped once it is empty and every instance runs a later version. Returns the number of rows.
 */
export async function migrateDeliveries(deps: Deps): Promise<number> {
  // The lower bounds let the planner read a range of an index.
  const selections = [
    sql`old."state" = 'queued' AND old."nextAttemptAt" > '-infinity' ORDER BY old."nextAttemptAt"`,
    sql`old."state" = 'sending' AND old."leaseUntil" > '-infinity' AND ${leaseExpired(sql`old."leaseUntil"`, deps.dbNow())}`,
    sql`old."id" > ${NIL_ID}::uuid AND old."state" IN ('sent', 'failed', 'cancelled') ORDER BY old."id"`,
  ];
  let moved = 0;
  for (const selection of selections) {
    for (let i = 0; i < MAX_STATEMENTS; i++) {
      const rows = await moveRows(deps, selection);
      moved += rows;
      if (rows < MAX_ROWS_PER_STATEMENT) break;
    }
  }
  return moved;
}

/** Locks the devices too: a device that is being deleted takes its deliveries along. */
async function moveRows({ db }: Deps, selection: Prisma.Sql): Promise<number> {
  return db.$executeRaw`
    WITH locked AS MATERIALIZED (
      SELECT old."id", device."accountId" FROM "PushDelivery" AS old JOIN "PushDevice" AS device
        ON device."id" = old."deviceId"
      WHERE ${selection} LIMIT ${MAX_ROWS_PER_STATEMENT}
      FOR UPDATE OF old SKIP LOCKED FOR KEY SHARE OF device SKIP LOCKED
    ), old AS (
      DELETE FROM "PushDelivery" AS old USING locked WHERE old."id" = locked."id"
      RETURNING old.*, ${queuePriorityOf(sql`old."kind"`)} AS "queuePriority", locked."accountId"
    ), message AS (
      INSERT INTO "PushMessage" AS known ("id", "eventKey", "accountId", "kind", "payload", "priority", "collapseId",
        "expiresAt")
      SELECT DISTINCT ON ("eventKey") "id", "eventKey",
        CASE WHEN "queuePriority" <> ${QueuePriority.announcement} THEN "accountId" END,
        "kind", "payload", "priority", "collapseId", max("expiresAt") OVER (PARTITION BY "eventKey")
      FROM old ORDER BY "eventKey"
      ON CONFLICT ("eventKey") DO UPDATE SET "expiresAt" = greatest(known."expiresAt", EXCLUDED."expiresAt")
      RETURNING "id", "eventKey"
    ), queued AS (
      INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority", "attempts",
        "apnsStatus", "reason")
      SELECT old."deviceId", message."id", old."id", old."nextAttemptAt", old."expiresAt", old."queuePriority",
        old."attempts" + (old."state" = 'sending')::int, old."apnsStatus", old."reason"
      FROM old JOIN message ON message."eventKey" = old."eventKey"
      WHERE old."state" IN ('queued', 'sending') AND NOT EXISTS (
        SELECT 1 FROM "PushReceipt" AS receipt
        WHERE receipt."messageId" = message."id" AND receipt."deviceId" = old."deviceId"
      )
      ON CONFLICT DO NOTHING
    ), receipt AS (
      INSERT INTO "PushReceipt" ("messageId", "deviceId", "id", "endedAt", "expiresAt", "state", "attempts",
        "apnsStatus", "reason")
      SELECT message."id", old."deviceId", old."id", coalesce(old."sentAt", old."createdAt"), old."expiresAt",
        old."state", old."attempts", old."apnsStatus", old."reason"
      FROM old JOIN message ON message."eventKey" = old."eventKey"
      WHERE old."state" NOT IN ('queued', 'sending')
      ON CONFLICT DO NOTHING
    )
    SELECT 1 FROM old`;
}

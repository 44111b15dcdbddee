import { createHash, randomBytes } from "node:crypto";
import type { Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { seconds, sql } from "../../platform/db/sql";
import { cancelRemoved } from "../outbox/receipts";
import { composeNotification } from "../payload";
import type { Challenge } from "../schema";

const TTL_SECONDS = 15 * 60;

/** The columns of a new challenge and of its notification, and their types in SQL. */
export const NEW_CHALLENGE_COLUMNS = sql`"challengeId" uuid, "value" text, "nonceHash" text, "messageId" uuid,
  "deliveryId" uuid, "eventKey" text, "kind" text, "payload" jsonb, "priority" smallint, "queuePriority" smallint`;

/**
 * Returns the values of `NEW_CHALLENGE_COLUMNS`. The challenge's value is returned to the caller; its nonce goes only
 * through APNs, and only the nonce's hash is stored.
 */
export function newChallenge() {
  const challengeId = newId();
  const nonce = randomBytes(32).toString("base64url");
  const value = randomBytes(32).toString("base64url");
  const nonceHash = createHash("sha256").update(nonce).digest("hex");
  const notification = composeNotification({ kind: "push.challenge", challengeId, nonce });
  const ids = { messageId: newId(), deliveryId: newId(), eventKey: `challenge:${challengeId}` };
  return { ...notification, ...ids, challengeId, value, nonceHash };
}

/**
 * Returns the CTEs that insert challenges and their notifications, as part of a larger statement. Its CTE "challenged" has
 * `NEW_CHALLENGE_COLUMNS` and the "deviceId" of each, which the statement has locked or inserted. `now` is the database's
 * time.
 */
export function insertChallenges(now: Prisma.Sql | Date): Prisma.Sql {
  const expiresAt = sql`${now}::timestamptz + ${seconds(TTL_SECONDS)}`;
  return sql`challenge AS (
      INSERT INTO "PushChallenge" ("id", "deviceId", "value", "nonceHash", "createdAt", "expiresAt")
      SELECT "challengeId", "deviceId", "value", "nonceHash", ${now}::timestamptz, ${expiresAt} FROM challenged
    ), "message" AS (
      INSERT INTO "PushMessage" ("id", "eventKey", "deviceId", "kind", "payload", "priority", "expiresAt")
      SELECT "messageId", "eventKey", "deviceId", "kind", "payload", "priority", ${expiresAt} FROM challenged
    ), "delivery" AS (
      INSERT INTO "QueuedPush" ("deviceId", "messageId", "id", "nextAttemptAt", "expiresAt", "queuePriority")
      SELECT "deviceId", "messageId", "deliveryId", ${now}::timestamptz, ${expiresAt}, "queuePriority" FROM challenged
    )`;
}

/** Returns a challenge as the app receives it. `now` is the database's time when it was inserted. */
export function toChallenge({ challengeId, value }: ReturnType<typeof newChallenge>, now: Date): Challenge {
  return { id: challengeId, value, expiresAt: new Date(now.getTime() + TTL_SECONDS * 1000) };
}

/** Creates a challenge for a device. `now` is the database's time. */
export async function createChallenge(tx: Tx, now: Date, deviceId: string): Promise<Challenge> {
  const challenge = newChallenge();
  await tx.$executeRaw`
    WITH challenged AS (
      SELECT ${deviceId}::uuid AS "deviceId", given.*
      FROM json_to_record(${JSON.stringify(challenge)}::json) AS given (${NEW_CHALLENGE_COLUMNS})
    ), ${insertChallenges(now)}
    SELECT 1`;
  return toChallenge(challenge, now);
}

/** Cancels the challenges and deliveries of a device whose token changes: a nonce sent to the old token proves nothing. */
export async function cancelChallenges(tx: Tx, now: Date, deviceId: string): Promise<void> {
  await tx.pushChallenge.deleteMany({ where: { deviceId } });
  await tx.$executeRaw`
    WITH removed AS (
      DELETE FROM "QueuedPush" WHERE "deviceId" = ${deviceId}::uuid AND "leaseUntil" IS NULL RETURNING *
    ), ${cancelRemoved(now, "device_moved")}
    SELECT 1`;
}

/**
 * Returns why the last challenge of each device did not reach it: APNs's reason or the outbox's, by device id. Devices
 * whose challenge is queued, or was accepted by APNs, are absent.
 */
export async function findChallengeFailures(tx: Tx, deviceIds: readonly string[]): Promise<Map<string, string>> {
  if (deviceIds.length === 0) return new Map();
  const rows = await tx.$queryRaw<{ deviceId: string; reason: string | null }[]>`
    SELECT DISTINCT ON (challenge."deviceId") challenge."deviceId", coalesce(receipt."reason", queued."reason") AS "reason"
    FROM "PushChallenge" AS challenge
    JOIN "PushMessage" AS message ON message."eventKey" = 'challenge:' || challenge."id"
    LEFT JOIN "QueuedPush" AS queued ON queued."deviceId" = challenge."deviceId" AND queued."messageId" = message."id"
    LEFT JOIN "PushReceipt" AS receipt
      ON receipt."messageId" = message."id" AND receipt."deviceId" = challenge."deviceId"
    WHERE challenge."deviceId" = ANY(${deviceIds}::uuid[]) AND (receipt."id" IS NOT NULL OR queued."reason" IS NOT NULL)
    ORDER BY challenge."deviceId", challenge."createdAt" DESC, challenge."id" DESC`;
  return new Map(rows.flatMap(({ deviceId, reason }) => (reason === null ? [] : [[deviceId, reason]])));
}

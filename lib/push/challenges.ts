import { createHash, randomBytes } from "node:crypto";
import type { Tx } from "../context";
import { newId } from "../db/ids";
import { sql } from "../db/sql";
import { cancelDeliveries, enqueueForDevice } from "./outbox/enqueue";
import type { Challenge } from "./schema";

const TTL_MS = 15 * 60 * 1000;

/**
 * Creates a challenge for a device. Its value is returned to the caller; its nonce goes only through APNs, and only the
 * nonce's hash is stored. `now` is the database's time.
 */
export async function createChallenge(tx: Tx, now: Date, deviceId: string): Promise<Challenge> {
  const id = newId();
  const nonce = randomBytes(32).toString("base64url");
  const value = randomBytes(32).toString("base64url");
  const nonceHash = createHash("sha256").update(nonce).digest("hex");
  const expiresAt = new Date(now.getTime() + TTL_MS);
  const message = { kind: "push.challenge", challengeId: id, nonce } as const;
  await tx.$executeRaw`
    WITH challenge AS (
      INSERT INTO "PushChallenge" ("id", "deviceId", "value", "nonceHash", "createdAt", "expiresAt")
      VALUES (${id}::uuid, ${deviceId}::uuid, ${value}, ${nonceHash}, ${now}, ${expiresAt})
      RETURNING "deviceId" AS "id"
    ), ${enqueueForDevice(now, sql`challenge`, `challenge:${id}`, message)}
    SELECT 1`;
  return { id, value, expiresAt };
}

/** Cancels the challenges and deliveries of a device whose token changes: a nonce sent to the old token proves nothing. */
export async function cancelChallenges(tx: Tx, now: Date, deviceId: string): Promise<void> {
  await tx.pushChallenge.deleteMany({ where: { deviceId } });
  await cancelDeliveries(tx, now, deviceId, "device_moved");
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

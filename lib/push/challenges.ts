import { createHash, randomBytes } from "node:crypto";
import type { Tx } from "../context";
import { enqueue } from "./outbox";
import type { Challenge } from "./schema";

const TTL_MS = 15 * 60 * 1000;

/**
 * Creates a challenge for a device. Its value is returned to the caller; its nonce goes only through APNs, and only the
 * nonce's hash is stored. `now` is the database's time.
 */
export async function createChallenge(tx: Tx, now: Date, deviceId: string): Promise<Challenge> {
  const nonce = randomBytes(32).toString("base64url");
  const challenge = await tx.pushChallenge.create({
    data: {
      deviceId,
      value: randomBytes(32).toString("base64url"),
      nonceHash: createHash("sha256").update(nonce).digest("hex"),
      createdAt: now,
      expiresAt: new Date(now.getTime() + TTL_MS),
    },
    select: { id: true, value: true, expiresAt: true },
  });
  await enqueue(tx, now, {
    eventKey: `challenge:${challenge.id}`,
    to: { deviceId },
    message: { kind: "push.challenge", challengeId: challenge.id, nonce },
  });
  return challenge;
}

/** Cancels the challenges and deliveries of a device whose token changes: a nonce sent to the old token proves nothing. */
export async function cancelChallenges(tx: Tx, deviceId: string): Promise<void> {
  await tx.pushChallenge.deleteMany({ where: { deviceId } });
  await tx.pushDelivery.updateMany({
    where: { deviceId, state: "queued" },
    data: { state: "cancelled", reason: "device_moved" },
  });
}

/**
 * Returns why the last challenge of each device did not reach it: APNs's reason or the outbox's, by device id. Devices
 * whose challenge is queued, or was accepted by APNs, are absent.
 */
export async function findChallengeFailures(tx: Tx, deviceIds: readonly string[]): Promise<Map<string, string>> {
  if (deviceIds.length === 0) return new Map();
  const rows = await tx.$queryRaw<{ deviceId: string; reason: string | null }[]>`
    SELECT DISTINCT ON (challenge."deviceId") challenge."deviceId", delivery."reason"
    FROM "PushChallenge" AS challenge
    JOIN "PushDelivery" AS delivery
      ON delivery."deviceId" = challenge."deviceId" AND delivery."eventKey" = 'challenge:' || challenge."id"
    WHERE challenge."deviceId" = ANY(${deviceIds}::uuid[])
      AND (delivery."reason" IS NOT NULL OR delivery."state" = 'sent')
    ORDER BY challenge."deviceId", challenge."createdAt" DESC, challenge."id" DESC`;
  return new Map(rows.flatMap(({ deviceId, reason }) => (reason === null ? [] : [[deviceId, reason]])));
}

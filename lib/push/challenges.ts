import { createHash, randomBytes } from "node:crypto";
import type { Tx } from "../context";
import { enqueue } from "./outbox";
import type { Challenge } from "./schema";

const TTL_MS = 15 * 60 * 1000;

/**
 * Opens a challenge for a device: its value goes to the caller, its nonce only through APNs; kept is the nonce's hash.
 * `now` is by the database's clock.
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

/** Ends what is under way for a device whose address changes: a nonce sent to the old one proves nothing for the new. */
export async function cancelChallenges(tx: Tx, deviceId: string): Promise<void> {
  await tx.pushChallenge.deleteMany({ where: { deviceId } });
  await tx.pushDelivery.updateMany({
    where: { deviceId, state: "queued" },
    data: { state: "cancelled", reason: "device_moved" },
  });
}

/**
 * Why a device's last challenge has not reached it, in APNs's words or the outbox's: by the ids of the devices that
 * this is known of. Nothing is known of one that is on its way, or that APNs took.
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

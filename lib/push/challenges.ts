import { createHash, randomBytes } from "node:crypto";
import type { Tx } from "../context";
import { enqueue } from "./outbox";
import type { Challenge } from "./schema";

const TTL_MS = 15 * 60 * 1000;

/**
 * Opens a challenge for a device: its value goes to the caller, its nonce only through APNs; kept is the nonce's hash.
 * `now` is by the database's clock.
 */
export async function openChallenge(tx: Tx, now: Date, deviceId: string): Promise<Challenge> {
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
export async function dropChallenges(tx: Tx, deviceId: string): Promise<void> {
  await tx.pushChallenge.deleteMany({ where: { deviceId } });
  await tx.pushDelivery.updateMany({
    where: { deviceId, state: "queued" },
    data: { state: "cancelled", reason: "device_moved" },
  });
}

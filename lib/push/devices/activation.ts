import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Prisma, PushDevice, PushDeviceStatus } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import type { NewWebhookEvent } from "../../webhooks/events";
import { evidenceInvalid } from "../evidence/errors";
import { keyIdOf } from "../evidence/p256";
import type { Evidence } from "../evidence/schema";
import { APPLE_APP_ATTESTATION_ROOT, type VerifiedKey, verifyEvidence } from "../evidence/verify";
import { type Device, toDevice } from "../schema";
import { columnsOf, deviceLimitReached, lockOwner, MAX_DEVICES, type Owner, type Registration } from "./registration";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "now" | "webhooks">;

/** A device that is invalid has to register again first. */
const VERIFIABLE_STATUSES: PushDeviceStatus[] = ["pending", "active"];

/**
 * Activates a device whose evidence responds to its challenge. The token then belongs to this device alone: other
 * accounts lose theirs in the same transaction. If the account already has a device with the same key, that device
 * takes over the new token, and its queued notifications with it.
 * @throws AppError challenge_used, challenge_expired, evidence_invalid with `reason`, push_not_configured,
 * device_limit_reached, unauthenticated
 */
export async function activateDevice(
  { config, db, dbNow, now, webhooks }: Deps,
  owner: Owner,
  registration: Registration,
  evidence: Evidence,
  caller: Caller,
): Promise<Device> {
  const challenge = await findChallenge(db, owner, registration, evidence.challengeId);
  if (!challenge) throw evidenceInvalid("challenge_unknown");
  if (challenge.usedAt) throw new AppError("challenge_used");
  const { device } = challenge;
  const keyHolder = (await findDeviceByKey(db, device, evidence)) ?? device;
  const { keyId, publicKey, keyCounter } = keyHolder;
  const { key, receipt } = await verifyEvidence(evidence, {
    challenge,
    device: { ...device, keyId, publicKey, keyCounter },
    now: now(),
    teamId: config.APNS_TEAM_ID,
    root: config.APP_ATTEST_ROOT_CA ?? APPLE_APP_ATTESTATION_ROOT,
    allowsUnprotectedMacs: config.APP_ATTEST_ALLOW_UNPROTECTED_MACS,
  });
  return db.$transaction(async (tx) => {
    const at = await lockOwner(tx, { dbNow }, owner);
    if (challenge.expiresAt <= at) throw new AppError("challenge_expired");
    await claimToken(tx, device);
    // Of two simultaneous uses, one succeeds.
    const unused = { id: challenge.id, usedAt: null };
    const { count: used } = await tx.pushChallenge.updateMany({ where: unused, data: { usedAt: at } });
    if (used === 0) throw new AppError("challenge_used");
    const isTokenMoved = keyHolder.id !== device.id;
    if (isTokenMoved) await tx.pushDevice.deleteMany({ where: { id: device.id } });
    const status = isTokenMoved ? undefined : { in: VERIFIABLE_STATUSES };
    const where = { id: keyHolder.id, keyId, keyCounter, status };
    const row = await activate(tx, at, owner, where, registration, key);
    if (receipt) await keepReceipt(tx, row.id, receipt, at);
    await enforceDeviceLimit(tx, row);
    await recordSecurityEvent(tx, now(), owner.account.id, "device_verified", caller);
    await webhooks.record(tx, [deviceVerified(row)]);
    return toDevice(row, owner.session.id);
  });
}

/** The event of a device that gets notifications from now on. */
export function deviceVerified({ id: deviceId, accountId, environment, bundleId }: PushDevice): NewWebhookEvent {
  const data = { accountId, deviceId, environment, bundleId };
  return { type: "push.device_verified", data, accountId };
}

/** Finds a challenge of the registering device, created for the same token. */
function findChallenge(db: Tx, { account }: Owner, registration: Registration, id: string) {
  const { environment, bundleId, token, installationId } = registration;
  const status = { in: VERIFIABLE_STATUSES };
  return db.pushChallenge.findFirst({
    where: { id, device: { accountId: account.id, environment, bundleId, token, installationId, status } },
    include: { device: true },
    relationLoadStrategy: "join",
  });
}

/**
 * Finds the account's device that has the key of the evidence: the same app, with a new token. null for an attestation,
 * whose key is new, and for an unknown key.
 */
async function findDeviceByKey(db: Tx, device: PushDevice, evidence: Evidence): Promise<PushDevice | null> {
  const isAppAttest = evidence.type === "app_attest";
  if (isAppAttest && evidence.attestation !== undefined) return null;
  const { accountId, environment, bundleId } = device;
  const id = isAppAttest ? Buffer.from(evidence.keyId, "base64") : keyIdOf(Buffer.from(evidence.publicKey, "base64"));
  const keyId = id.toString("base64");
  if (device.keyId === keyId) return device;
  return db.pushDevice.findFirst({ where: { accountId, environment, bundleId, keyId } });
}

/**
 * Removes the token from all other accounts. Locks the rows in id order, so that two devices that prove the same token
 * at the same time do not deadlock.
 */
async function claimToken(tx: Tx, { id, environment, bundleId, token }: PushDevice): Promise<void> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT "id"::text FROM "PushDevice"
    WHERE "environment" = ${environment}::"PushEnvironment" AND "bundleId" = ${bundleId} AND "token" = ${token}
    ORDER BY "id" FOR NO KEY UPDATE`;
  if (!rows.some((row) => row.id === id)) throw evidenceInvalid("challenge_unknown"); // the device changed concurrently
  const others = rows.map((row) => row.id).filter((other) => other !== id);
  if (others.length > 0) await tx.pushDevice.deleteMany({ where: { id: { in: others } } });
}

/** Stores the key if the row still has the key and counter that the evidence was verified against. */
async function activate(
  tx: Tx,
  at: Date,
  { session }: Owner,
  where: Prisma.PushDeviceWhereInput,
  registration: Registration,
  key: VerifiedKey,
): Promise<PushDevice> {
  const verified = { ...key, status: "active", verifiedAt: at, invalidReason: null } as const;
  const data = { ...columnsOf(registration), sessionId: session.id, registeredAt: at, lastSeenAt: at, ...verified };
  const [row] = await tx.pushDevice.updateManyAndReturn({ where, data });
  if (!row) throw evidenceInvalid("counter_replayed");
  return row;
}

/** Replaces the receipt of a device's former key. */
async function keepReceipt(tx: Tx, deviceId: string, receipt: Uint8Array<ArrayBuffer>, at: Date): Promise<void> {
  const kept = { receipt, nextAttemptAt: at, riskMetric: null, riskMetricAt: null };
  await tx.attestationReceipt.upsert({ where: { deviceId }, create: { deviceId, ...kept }, update: kept });
}

/**
 * A known installation may register beyond the limit. If its key is new, it counts as another device, and the devices
 * that had its installation id are removed: the app was deleted and installed again.
 * @throws AppError device_limit_reached if there are none
 */
async function enforceDeviceLimit(tx: Tx, { id, accountId, installationId }: PushDevice): Promise<void> {
  if (installationId === null || (await tx.pushDevice.count({ where: { accountId } })) <= MAX_DEVICES) return;
  await tx.pushDevice.deleteMany({ where: { accountId, installationId, id: { not: id } } });
  const verified = await tx.pushDevice.count({ where: { accountId, status: { not: "pending" } } });
  if (verified > MAX_DEVICES) throw deviceLimitReached();
}

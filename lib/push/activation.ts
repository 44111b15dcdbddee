import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import type { Context, Tx } from "../context";
import type { Prisma, PushDevice, PushDeviceStatus } from "../db/generated/client";
import { AppError } from "../errors";
import { APPLE_APP_ATTESTATION_ROOT } from "./evidence/apple-root";
import { evidenceInvalid } from "./evidence/errors";
import { keyIdOf } from "./evidence/p256";
import type { Evidence } from "./evidence/schema";
import { type VerifiedKey, verifyEvidence } from "./evidence/verify";
import { lockOwner, type Owner } from "./owner";
import { deviceLimitReached, MAX_DEVICES, type Registration } from "./registration-plan";
import { type Device, toDevice } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "now">;

/** A device that APNs found dead has to register again first. */
const VERIFIABLE_STATUSES: PushDeviceStatus[] = ["pending", "active"];

/**
 * Makes a device active: the evidence answers the challenge that it was given at this very address. With it the
 * token becomes its owner's alone: whoever had registered it before loses it, in the same transaction. A device that
 * is known by the key already moves to the new address, with what is queued for it.
 * @throws AppError challenge_used, challenge_expired, evidence_invalid with `reason`, push_not_configured,
 * device_limit_reached, unauthenticated
 */
export async function activateDevice(
  { config, db, dbNow, now }: Deps,
  owner: Owner,
  wanted: Registration,
  evidence: Evidence,
  caller: Caller,
): Promise<Device> {
  const challenge = await findChallenge(db, owner, wanted, evidence.challengeId);
  if (!challenge) throw evidenceInvalid("challenge_unknown");
  if (challenge.usedAt) throw new AppError("challenge_used");
  const { device } = challenge;
  const holder = (await findDeviceByKey(db, device, evidence)) ?? device;
  const { keyId, publicKey, keyCounter } = holder;
  const key = verifyEvidence(evidence, {
    ...{ challenge, device: { ...device, keyId, publicKey, keyCounter }, now: now(), teamId: config.APNS_TEAM_ID },
    root: config.APP_ATTEST_ROOT_CA ?? APPLE_APP_ATTESTATION_ROOT,
  });
  return db.$transaction(async (tx) => {
    const at = await lockOwner(tx, { dbNow }, owner);
    if (challenge.expiresAt <= at) throw new AppError("challenge_expired");
    await claimToken(tx, device);
    await useChallenge(tx, challenge.id, at);
    const isMove = holder.id !== device.id;
    if (isMove) await tx.pushDevice.deleteMany({ where: { id: device.id } });
    const from = isMove ? { keyId, keyCounter } : { keyId, keyCounter, status: { in: VERIFIABLE_STATUSES } };
    const row = await activate(tx, at, owner, { id: holder.id, ...from }, wanted, key);
    await enforceDeviceLimit(tx, row);
    await recordSecurityEvent(tx, now(), owner.account.id, "device_verified", caller);
    return toDevice(row, owner.session.id);
  });
}

/** A challenge of the device that registers, at the address that it was given for. */
function findChallenge(db: Tx, { account }: Owner, wanted: Registration, id: string) {
  const { environment, bundleId, token, installationId } = wanted;
  const at = {
    accountId: account.id,
    environment,
    bundleId,
    token,
    installationId,
    status: { in: VERIFIABLE_STATUSES },
  };
  return db.pushChallenge.findFirst({
    where: { id, device: at },
    include: { device: true },
    relationLoadStrategy: "join",
  });
}

/**
 * The device of the account that is known by the key which answers: the app that it is on has a new token now. null for
 * a key that is attested, which is new; and for one that nobody knows.
 */
async function findDeviceByKey(db: Tx, device: PushDevice, evidence: Evidence): Promise<PushDevice | null> {
  if (evidence.type === "app_attest" && evidence.attestation !== undefined) return null;
  const { accountId, environment, bundleId } = device;
  const keyId = keyIdOfEvidence(evidence);
  if (device.keyId === keyId) return device;
  return db.pushDevice.findFirst({ where: { accountId, environment, bundleId, keyId } });
}

/** In the form in which it is kept. */
function keyIdOfEvidence(evidence: Evidence): string {
  const keyId =
    evidence.type === "app_attest"
      ? Buffer.from(evidence.keyId, "base64")
      : keyIdOf(Buffer.from(evidence.publicKey, "base64"));
  return keyId.toString("base64");
}

/**
 * Takes the token from all other accounts. Locks the rows in one order, so that two who prove the same token at
 * once wait for each other and do not lock each other out.
 */
async function claimToken(tx: Tx, { id, environment, bundleId, token }: PushDevice): Promise<void> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT "id"::text FROM "PushDevice"
    WHERE "environment" = ${environment}::"PushEnvironment" AND "bundleId" = ${bundleId} AND "token" = ${token}
    ORDER BY "id" FOR UPDATE`;
  if (!rows.some((row) => row.id === id)) throw evidenceInvalid("challenge_unknown"); // it moved, or is gone
  const others = rows.map((row) => row.id).filter((other) => other !== id);
  if (others.length > 0) await tx.pushDevice.deleteMany({ where: { id: { in: others } } });
}

/** Of two uses at the same moment one wins. */
async function useChallenge(tx: Tx, id: string, now: Date): Promise<void> {
  const { count } = await tx.pushChallenge.updateMany({ where: { id, usedAt: null }, data: { usedAt: now } });
  if (count === 0) throw new AppError("challenge_used");
}

/** The key is written only where the row still has the one that the evidence was held against, counter and all. */
async function activate(
  tx: Tx,
  at: Date,
  { session }: Owner,
  from: Prisma.PushDeviceWhereInput,
  { token, environment, bundleId, installationId, device }: Registration,
  key: VerifiedKey,
): Promise<PushDevice> {
  const [row] = await tx.pushDevice.updateManyAndReturn({
    where: from,
    data: {
      ...{
        token,
        environment,
        bundleId,
        ...device,
        installationId,
        sessionId: session.id,
        registeredAt: at,
        lastSeenAt: at,
      },
      ...{ ...key, status: "active", verifiedAt: at, invalidReason: null },
    },
  });
  if (!row) throw evidenceInvalid("counter_replayed");
  return row;
}

/**
 * An installation that is known was let in beyond the limit. With a key of its own it is a device more: then those go
 * that had its id before, as of the same app before it was deleted and installed again.
 * @throws AppError device_limit_reached where none has that id any more
 */
async function enforceDeviceLimit(tx: Tx, { id, accountId, installationId }: PushDevice): Promise<void> {
  if (installationId === null || (await tx.pushDevice.count({ where: { accountId } })) <= MAX_DEVICES) return;
  await tx.pushDevice.deleteMany({ where: { accountId, installationId, id: { not: id } } });
  const proved = await tx.pushDevice.count({ where: { accountId, status: { not: "pending" } } });
  if (proved > MAX_DEVICES) throw deviceLimitReached();
}

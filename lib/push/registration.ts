import type { Caller } from "../audit/caller";
import type { Context, Tx } from "../context";
import type { PushDevice } from "../db/generated/client";
import { AppError } from "../errors";
import { activateDevice } from "./activation";
import { cancelChallenges, createChallenge, findChallengeFailures } from "./challenges";
import { lockOwner, type Owner } from "./owner";
import { completeRegistration, planRegistration, type Registration, type RegistrationPlan } from "./registration-plan";
import { type Challenge, type Device, type RegisterDevice, toDevice } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "limits" | "now" | "push" | "wakePush">;

type RegistrationResult = { device: Device; challenge?: Challenge };

/**
 * Registers the device that calls. An active one stays active; any other gets a challenge, whose nonce leaves
 * by a background push, and becomes active once it comes back with evidence.
 * @throws AppError push_not_configured, validation_failed, device_limit_reached, rate_limited, unauthenticated,
 * challenge_expired, challenge_used, evidence_invalid with `reason`
 */
export async function registerDevice(
  ctx: Deps,
  owner: Owner,
  given: RegisterDevice,
  caller: Caller,
): Promise<{ device: Device; challenge?: Challenge }> {
  if (!ctx.push) throw new AppError("push_not_configured");
  const wanted = completeRegistration(ctx.config.APNS_BUNDLE_IDS, given);
  if (wanted.evidence) return { device: await activateDevice(ctx, owner, wanted, wanted.evidence, caller) };
  const refreshed = await refreshDevice(ctx, owner, wanted);
  if (refreshed) return { device: refreshed };
  // Not by its row, which could be deleted and made anew; and for each account, or a stolen token would keep its
  // owner from the challenges. Outside the transaction, whose connection may be the only one.
  const address = `${owner.account.id} ${wanted.environment} ${wanted.bundleId} ${wanted.token}`;
  await ctx.limits.consume("pushChallengeByDevice", address);
  let written: RegistrationResult | null = null;
  // Again where the device changed under the registration: APNs found its token dead, somebody removed it.
  while (!written) written = await ctx.db.$transaction((tx) => register(tx, ctx, owner, wanted));
  if (written.challenge) ctx.wakePush();
  return written;
}

/**
 * What nearly every registration is: an active device, at its address, that says it is still there. One statement,
 * and none of it where the session has ended meanwhile. null: something else is to be done.
 */
async function refreshDevice(
  { db, dbNow }: Deps,
  { account, session }: Owner,
  { token, environment, bundleId, device, ...rest }: Registration,
): Promise<Device | null> {
  const installationId = rest.installationId ?? null;
  const [row] = await db.$queryRaw<PushDevice[]>`
    WITH session AS (
      SELECT "id" FROM "Session" WHERE "id" = ${session.id}::uuid AND "revokedAt" IS NULL FOR SHARE
    )
    UPDATE "PushDevice" AS device
    SET "sessionId" = session."id", "installationId" = coalesce(${installationId}::uuid, device."installationId"), "registeredAt" = ${dbNow()}, "lastSeenAt" = ${dbNow()},
      "name" = coalesce(${device.name ?? null}, device."name"),
      "model" = coalesce(${device.model ?? null}, device."model"),
      "osVersion" = coalesce(${device.osVersion ?? null}, device."osVersion"),
      "appVersion" = coalesce(${device.appVersion ?? null}, device."appVersion"),
      "locale" = coalesce(${device.locale ?? null}, device."locale"),
      "timeZone" = coalesce(${device.timeZone ?? null}, device."timeZone")
    FROM session
    WHERE device."accountId" = ${account.id}::uuid AND device."environment" = ${environment}::"PushEnvironment"
      AND device."bundleId" = ${bundleId} AND device."token" = ${token} AND device."status" = 'active'
    RETURNING device.*`;
  return row ? toDevice(row, session.id) : null;
}

/** null: the device is no longer what it was a moment ago. */
async function register(tx: Tx, ctx: Deps, owner: Owner, wanted: Registration): Promise<RegistrationResult | null> {
  const at = await lockOwner(tx, ctx, owner);
  const plan = planRegistration(await findDevices(tx, owner.account.id), wanted);
  const row = await saveDevice(tx, at, owner, wanted, plan);
  if (!row) return null;
  if (plan.step === "refresh") return { device: toDevice(row, owner.session.id) };
  const failures = plan.step === "challenge" ? await findChallengeFailures(tx, [row.id]) : new Map<string, string>();
  const device = toDevice(row, owner.session.id, failures.get(row.id));
  return { device, challenge: await createChallenge(tx, at, row.id) };
}

async function saveDevice(
  tx: Tx,
  at: Date,
  { account, session }: Owner,
  wanted: Registration,
  plan: RegistrationPlan<Awaited<ReturnType<typeof findDevices>>[number]>,
): Promise<PushDevice | null> {
  const data = { ...columnsOf(wanted), sessionId: session.id, registeredAt: at, lastSeenAt: at };
  if (plan.step === "create") return tx.pushDevice.create({ data: { ...data, accountId: account.id, createdAt: at } });
  const { id } = plan.device;
  if (plan.step === "refresh") {
    const [row] = await tx.pushDevice.updateManyAndReturn({ where: { id, status: "active" }, data });
    return row ?? null;
  }
  if (plan.replacedDeviceId) await tx.pushDevice.deleteMany({ where: { id: plan.replacedDeviceId } });
  const unproved = { ...UNVERIFIED, ...(plan.isKeyKept ? {} : NO_KEY) };
  const [row] = await tx.pushDevice.updateManyAndReturn({ where: { id }, data: { ...data, ...unproved } });
  if (row && plan.isTargetNew) await cancelChallenges(tx, id);
  return row ?? null;
}

/** What a device falls back to when it has to prove itself again. */
const UNVERIFIED = { status: "pending", invalidReason: null, verifiedAt: null } as const;
const NO_KEY = { keyId: null, publicKey: null, keyCounter: null };

/** Members that were not given are undefined, and leave their columns as they are. */
function columnsOf({ token, environment, bundleId, installationId, device }: Registration) {
  return { token, environment, bundleId, installationId, ...device };
}

function findDevices(tx: Tx, accountId: string) {
  return tx.pushDevice.findMany({
    where: { accountId },
    select: { id: true, status: true, installationId: true, environment: true, bundleId: true, token: true },
  });
}

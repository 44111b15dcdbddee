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
 * Registers a device. An active device stays active. Any other device gets a challenge, whose nonce is sent by a
 * background push, and becomes active when it registers again with evidence.
 * @throws AppError push_not_configured, validation_failed, device_limit_reached, rate_limited, unauthenticated,
 * challenge_expired, challenge_used, evidence_invalid with `reason`
 */
export async function registerDevice(
  ctx: Deps,
  owner: Owner,
  given: RegisterDevice,
  caller: Caller,
): Promise<RegistrationResult> {
  if (!ctx.push) throw new AppError("push_not_configured");
  const registration = completeRegistration(ctx.config.APNS_BUNDLE_IDS, given);
  const { evidence } = registration;
  if (evidence) return { device: await activateDevice(ctx, owner, registration, evidence, caller) };
  const refreshed = await refreshDevice(ctx, owner, registration);
  if (refreshed) return { device: refreshed };
  // Counts for each account, so that a stolen token does not use up its owner's challenges. Not by the device's id,
  // which deleting the device would reset; and before the transaction, which may hold the only connection.
  const { environment, bundleId, token } = registration;
  await ctx.limits.consume("pushChallengeByDevice", `${owner.account.id} ${environment} ${bundleId} ${token}`);
  let result: RegistrationResult | null = null;
  while (!result) result = await ctx.db.$transaction((tx) => register(tx, ctx, owner, registration));
  if (result.challenge) ctx.wakePush();
  return result;
}

/**
 * Refreshes an active device that registers with the same token, as nearly every registration does, in one statement.
 * null if the device is not active or the session has ended.
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
    SET "sessionId" = session."id", "registeredAt" = ${dbNow()}, "lastSeenAt" = ${dbNow()},
      "installationId" = coalesce(${installationId}::uuid, device."installationId"),
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

/** Returns null if the device changed concurrently, as when APNs reports its token as invalid: plan again. */
async function register(
  tx: Tx,
  ctx: Deps,
  owner: Owner,
  registration: Registration,
): Promise<RegistrationResult | null> {
  const at = await lockOwner(tx, ctx, owner);
  const plan = planRegistration(await findDevices(tx, owner.account.id), registration);
  const row = await saveDevice(tx, at, owner, registration, plan);
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
  registration: Registration,
  plan: RegistrationPlan<Awaited<ReturnType<typeof findDevices>>[number]>,
): Promise<PushDevice | null> {
  const data = { ...columnsOf(registration), sessionId: session.id, registeredAt: at, lastSeenAt: at };
  if (plan.step === "create") return tx.pushDevice.create({ data: { ...data, accountId: account.id, createdAt: at } });
  const { id } = plan.device;
  if (plan.step === "refresh") {
    const [row] = await tx.pushDevice.updateManyAndReturn({ where: { id, status: "active" }, data });
    return row ?? null;
  }
  if (plan.replacedDeviceId) await tx.pushDevice.deleteMany({ where: { id: plan.replacedDeviceId } });
  const unverified = { ...UNVERIFIED, ...(plan.isKeyKept ? {} : NO_KEY) };
  const [row] = await tx.pushDevice.updateManyAndReturn({ where: { id }, data: { ...data, ...unverified } });
  if (row && plan.isTargetNew) await cancelChallenges(tx, at, id);
  return row ?? null;
}

const UNVERIFIED = { status: "pending", invalidReason: null, verifiedAt: null } as const;
const NO_KEY = { keyId: null, publicKey: null, keyCounter: null };

/** Fields that the request omits are undefined, so that their columns stay as they are. */
function columnsOf({ token, environment, bundleId, installationId, device }: Registration) {
  return { token, environment, bundleId, installationId, ...device };
}

function findDevices(tx: Tx, accountId: string) {
  return tx.pushDevice.findMany({
    where: { accountId },
    select: { id: true, status: true, installationId: true, environment: true, bundleId: true, token: true },
  });
}

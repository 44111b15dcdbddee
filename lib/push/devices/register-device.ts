import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import type { Prisma, PushDevice } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import { type Challenge, type Device, type RegisterDevice, toDevice } from "../schema";
import { activateDevice } from "./activation";
import { isActiveDevice, refreshDevice } from "./active-devices";
import { cancelChallenges, createChallenge, findChallengeFailures } from "./challenges";
import { createDevice } from "./new-devices";
import {
  columnsOf,
  completeRegistration,
  deviceKey,
  lockOwner,
  type Owner,
  planRegistration,
  type Registration,
  type RegistrationPlan,
} from "./registration";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "limits" | "log" | "now" | "push" | "wakePush" | "webhooks">;

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
  body: RegisterDevice,
  caller: Caller,
): Promise<RegistrationResult> {
  if (!ctx.push) throw new AppError("push_not_configured");
  const registration = completeRegistration(ctx.config.APNS_BUNDLE_IDS, body);
  const given = { owner, registration };
  const countRegistration = () => ctx.limits.consume("pushRegisterByAccount", owner.account.id);
  // Counts for each account, so that a stolen token does not use up its owner's challenges. Does not count by the
  // device's id, because deleting the device would reset the count. Runs before a transaction, which may hold the only
  // connection.
  const countChallenge = () => ctx.limits.consume("pushChallengeByDevice", deviceKey(owner.account.id, registration));
  const { evidence } = registration;
  if (evidence) {
    await countRegistration();
    return { device: await activateDevice(ctx, owner, registration, evidence, caller) };
  }
  if (await isActiveDevice(ctx.db, given)) {
    await countRegistration();
    const device = await refreshDevice(ctx, given);
    if (device) return { device };
    await countChallenge();
  } else {
    await Promise.all([countRegistration(), countChallenge()]); // one statement
  }
  return challengeDevice(ctx, owner, registration);
}

/** Registers a device that is not active, or was not when it was read. */
async function challengeDevice(ctx: Deps, owner: Owner, registration: Registration): Promise<RegistrationResult> {
  let result: RegistrationResult | null = await createDevice(ctx, { owner, registration });
  while (!result) result = await ctx.db.$transaction((tx) => register(tx, ctx, owner, registration));
  if (result.challenge) ctx.wakePush();
  return result;
}

/** Returns null if the device changed concurrently, as when APNs reports its token as invalid: plan again. */
async function register(
  tx: Tx,
  ctx: Deps,
  owner: Owner,
  registration: Registration,
): Promise<RegistrationResult | null> {
  const at = await lockOwner(tx, ctx, owner);
  const known = await tx.pushDevice.findMany({ where: { accountId: owner.account.id } });
  const plan = planRegistration(known, registration);
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
  plan: RegistrationPlan,
): Promise<PushDevice | null> {
  const data = { ...columnsOf(registration), sessionId: session.id, registeredAt: at, lastSeenAt: at };
  if (plan.step === "create") return tx.pushDevice.create({ data: { ...data, accountId: account.id, createdAt: at } });
  const { id } = plan.device;
  const update = async (
    where: { id: string; status?: "active" },
    change: Prisma.PushDeviceUncheckedUpdateManyInput,
  ) => {
    const [row] = await tx.pushDevice.updateManyAndReturn({ where, data: { ...data, ...change } });
    return row ?? null;
  };
  if (plan.step === "refresh") return update({ id, status: "active" }, {});
  if (plan.replacedDeviceId) await tx.pushDevice.deleteMany({ where: { id: plan.replacedDeviceId } });
  const row = await update({ id }, { ...UNVERIFIED, ...(plan.isKeyKept ? {} : NO_KEY) });
  if (row && plan.isTargetNew) await cancelChallenges(tx, at, id);
  return row;
}

const UNVERIFIED = { status: "pending", invalidReason: null, verifiedAt: null } as const;
const NO_KEY = { keyId: null, publicKey: null, keyCounter: null };

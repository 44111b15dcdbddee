import { randomUUID } from "node:crypto";
import type { Context, Tx } from "../context";
import type { PushDevice } from "../db/generated/client";
import { AppError } from "../errors";
import { dropChallenges, openChallenge } from "./challenges";
import { completeRegistration, type Plan, planRegistration, type Wanted } from "./registration-plan";
import { type Challenge, type Device, type RegisterDevice, toDevice } from "./schema";

type Deps = Pick<Context, "config" | "db" | "limits" | "now" | "push" | "wakePush">;

/** Who calls, as far as devices go. */
export type Owner = { account: { id: string }; session: { id: string } };

/** The device that may get a challenge: the row it has, or a new one under this id; and whether it was counted. */
type Permit = { known: string | null; deviceId: string; isCounted: boolean };
type Written = { device: Device; challenge?: Challenge };

/**
 * Registers the device that calls. An active one stays active; any other gets a challenge, whose nonce leaves
 * by a background push.
 * @throws AppError push_not_configured, validation_failed, device_limit_reached, rate_limited, unauthenticated
 */
export async function registerDevice(
  ctx: Deps,
  owner: Owner,
  given: RegisterDevice,
): Promise<{ device: Device; challenge?: Challenge }> {
  if (!ctx.push) throw new AppError("push_not_configured");
  const wanted = completeRegistration(ctx.config.APNS_BUNDLE_IDS, given);
  let written: Written | null = null;
  // Again where something else changed the device between permit and write, without counting again.
  for (let isCounted = false; !written; ) {
    const permit = await permitChallenge(ctx, owner, wanted, isCounted);
    isCounted = permit.isCounted;
    written = await ctx.db.$transaction((tx) => write(tx, ctx.now(), owner, wanted, permit));
  }
  if (written.challenge) ctx.wakePush();
  return written;
}

/** Counts a challenge before anything is written: inside the transaction the limits would wait for its connection. */
async function permitChallenge(
  { db, limits }: Deps,
  { account }: Owner,
  wanted: Wanted,
  isCounted: boolean,
): Promise<Permit> {
  const plan = planRegistration(await devicesOf(db, account.id), wanted);
  const known = rowToChallenge(plan);
  const deviceId = known ?? randomUUID();
  if (plan.step === "refresh" || isCounted) return { known, deviceId, isCounted };
  // Not by its row, which could be deleted and made anew; and for each account, or a stolen token would keep its
  // owner from the challenges.
  const address = `${account.id} ${wanted.environment} ${wanted.bundleId} ${wanted.token}`;
  await limits.consume("pushChallengeByDevice", limits.privateKey(address));
  return { known, deviceId, isCounted: true };
}

/** null: the device is no longer what the permit was given for. */
async function write(tx: Tx, now: Date, owner: Owner, wanted: Wanted, permit: Permit): Promise<Written | null> {
  await holdOwner(tx, owner);
  const plan = planRegistration(await devicesOf(tx, owner.account.id), wanted);
  if (plan.step !== "refresh" && rowToChallenge(plan) !== permit.known) return null;
  const row = await save(tx, now, owner, wanted, plan, permit.deviceId);
  if (!row) return null;
  const device = toDevice(row, owner.session.id);
  if (plan.step === "refresh") return { device };
  return { device, challenge: await openChallenge(tx, now, row.id) };
}

/** null: the row is gone, or no longer active. */
async function save(
  tx: Tx,
  now: Date,
  { account, session }: Owner,
  wanted: Wanted,
  plan: DevicePlan,
  newId: string,
): Promise<PushDevice | null> {
  const data = { ...columnsOf(wanted), sessionId: session.id, registeredAt: now, lastSeenAt: now };
  if (plan.step === "create")
    return tx.pushDevice.create({ data: { ...data, id: newId, accountId: account.id, createdAt: now } });
  const { id } = plan.device;
  if (plan.step === "refresh") {
    const [row] = await tx.pushDevice.updateManyAndReturn({ where: { id, status: "active" }, data });
    return row ?? null;
  }
  if (plan.obsolete) await tx.pushDevice.deleteMany({ where: { id: plan.obsolete } });
  const [row] = await tx.pushDevice.updateManyAndReturn({ where: { id }, data: { ...data, ...UNPROVED } });
  if (row && plan.moved) await dropChallenges(tx, id);
  return row ?? null;
}

/** What a device falls back to when it has to prove itself again. */
const UNPROVED = {
  status: "pending",
  invalidReason: null,
  verifiedAt: null,
  keyId: null,
  publicKey: null,
  keyCounter: null,
} as const;

/** Members that were not given are undefined, and leave their columns as they are. */
function columnsOf({ token, environment, bundleId, installationId, device }: Wanted) {
  return { token, environment, bundleId, installationId, ...device };
}

type DevicePlan = Plan<Awaited<ReturnType<typeof devicesOf>>[number]>;

function rowToChallenge(plan: DevicePlan): string | null {
  return plan.step === "challenge" ? plan.device.id : null;
}

/**
 * Lets one registration of an account in at a time, so that it can count the devices; and keeps the session
 * from ending before the device that has to end with it is there.
 */
async function holdOwner(tx: Tx, { account, session }: Owner): Promise<void> {
  const held = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM "Account" AS account JOIN "Session" AS session ON session."accountId" = account."id"
    WHERE account."id" = ${account.id}::uuid AND session."id" = ${session.id}::uuid AND session."revokedAt" IS NULL
    FOR NO KEY UPDATE OF account FOR SHARE OF session`;
  if (held.length === 0) throw new AppError("unauthenticated");
}

function devicesOf(db: Tx, accountId: string) {
  return db.pushDevice.findMany({
    where: { accountId },
    select: { id: true, status: true, installationId: true, environment: true, bundleId: true, token: true },
  });
}

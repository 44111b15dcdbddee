import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import type { Prisma } from "../../platform/db/generated/client";
import { idOr, NIL_ID } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import {
  type LiveActivities,
  type LiveActivity,
  type LiveActivityParams,
  type RegisterLiveActivity,
  type RegisterStartToken,
  type StartToken,
  type StartTokenParams,
  toLiveActivity,
  toStartToken,
} from "../schema";

type Deps = Pick<Context, "db" | "dbNow">;

/** Of each kind, for a device. iOS shows a few at a time: older ones were ended without a request to remove them. */
const MAX_TOKENS = 20;

/** Returns the tokens for Live Activities of a device, newest first. @throws AppError device_not_found */
export async function listLiveActivities({ db }: Deps, accountId: string, deviceId: string): Promise<LiveActivities> {
  const device = await db.pushDevice.findFirst({
    where: { id: idOr(NIL_ID, deviceId), accountId },
    select: {
      liveActivities: { orderBy: [{ registeredAt: "desc" }, { activityId: "asc" }] },
      liveActivityStartTokens: { orderBy: [{ registeredAt: "desc" }, { attributesType: "asc" }] },
    },
  });
  if (!device) throw new AppError("device_not_found");
  return {
    liveActivities: device.liveActivities.map(toLiveActivity),
    startTokens: device.liveActivityStartTokens.map(toStartToken),
  };
}

/**
 * Stores or replaces the token that updates a Live Activity. Keeps the 20 newest.
 * @throws AppError device_not_found, also for another account's device; device_not_active
 */
export function registerLiveActivity(
  { db, dbNow }: Deps,
  accountId: string,
  params: LiveActivityParams,
  body: RegisterLiveActivity,
): Promise<LiveActivity> {
  const { deviceId, activityId } = params;
  return db.$transaction(async (tx) => {
    const token = { ...body, registeredAt: await lockActiveDevice(tx, dbNow, accountId, deviceId) };
    const where = { deviceId_activityId: params };
    const row = await tx.liveActivity.upsert({ where, create: { ...params, ...token }, update: token });
    await removeOldest(tx, deviceId, sql`"LiveActivity"`, sql`"activityId" = ${activityId}`);
    return toLiveActivity(row);
  });
}

/**
 * The same for the token that starts Live Activities of a type.
 * @throws AppError device_not_found, also for another account's device; device_not_active
 */
export function registerStartToken(
  { db, dbNow }: Deps,
  accountId: string,
  params: StartTokenParams,
  body: RegisterStartToken,
): Promise<StartToken> {
  const { deviceId, attributesType } = params;
  return db.$transaction(async (tx) => {
    const token = { ...body, registeredAt: await lockActiveDevice(tx, dbNow, accountId, deviceId) };
    const where = { deviceId_attributesType: params };
    const row = await tx.liveActivityStartToken.upsert({ where, create: { ...params, ...token }, update: token });
    await removeOldest(tx, deviceId, sql`"LiveActivityStartToken"`, sql`"attributesType" = ${attributesType}`);
    return toStartToken(row);
  });
}

/** Removes a device's tokens of a kind beyond `MAX_TOKENS`, not the one that was registered now. */
async function removeOldest(tx: Tx, deviceId: string, table: Prisma.Sql, isNew: Prisma.Sql): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM ${table} WHERE ctid IN (
      SELECT ctid FROM ${table} WHERE "deviceId" = ${deviceId}::uuid
      ORDER BY ${isNew} DESC, "registeredAt" DESC OFFSET ${MAX_TOKENS}::int
    )`;
}

/** Removes the token of a Live Activity that has ended. Does nothing if there is none. @throws AppError device_not_found */
export async function removeLiveActivity({ db }: Deps, accountId: string, where: LiveActivityParams): Promise<void> {
  await requireDevice(db, accountId, where.deviceId);
  await db.liveActivity.deleteMany({ where });
}

/** The same for the token that starts Live Activities of a type. @throws AppError device_not_found */
export async function removeStartToken({ db }: Deps, accountId: string, where: StartTokenParams): Promise<void> {
  await requireDevice(db, accountId, where.deviceId);
  await db.liveActivityStartToken.deleteMany({ where });
}

async function requireDevice(db: Tx, accountId: string, deviceId: string): Promise<void> {
  const count = await db.pushDevice.count({ where: { id: idOr(NIL_ID, deviceId), accountId } });
  if (count === 0) throw new AppError("device_not_found");
}

/** Serializes the registrations of a device, so that its tokens can be counted. Returns the database's time. */
async function lockActiveDevice(tx: Tx, dbNow: Deps["dbNow"], accountId: string, deviceId: string): Promise<Date> {
  const [device] = await tx.$queryRaw<{ isActive: boolean; now: Date }[]>`
    SELECT "status" = 'active' AND "environment" <> 'web' AS "isActive", ${dbNow()} AS "now" FROM "PushDevice"
    WHERE "id" = ${idOr(NIL_ID, deviceId)}::uuid AND "accountId" = ${accountId}::uuid FOR NO KEY UPDATE`;
  if (!device) throw new AppError("device_not_found");
  if (!device.isActive) throw new AppError("device_not_active");
  return device.now;
}

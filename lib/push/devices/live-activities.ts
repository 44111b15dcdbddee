import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { isUuid } from "../../platform/db/ids";
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
  const device = isUuid(deviceId)
    ? await db.pushDevice.findFirst({
        where: { id: deviceId, accountId },
        select: {
          liveActivities: { orderBy: [{ registeredAt: "desc" }, { activityId: "asc" }] },
          liveActivityStartTokens: { orderBy: [{ registeredAt: "desc" }, { attributesType: "asc" }] },
        },
      })
    : null;
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
  { deviceId, activityId }: LiveActivityParams,
  { attributesType, token }: RegisterLiveActivity,
): Promise<LiveActivity> {
  return db.$transaction(async (tx) => {
    const registeredAt = await lockActiveDevice(tx, dbNow, accountId, deviceId);
    const values = { attributesType, token, registeredAt };
    const row = await tx.liveActivity.upsert({
      where: { deviceId_activityId: { deviceId, activityId } },
      create: { deviceId, activityId, ...values },
      update: values,
    });
    const oldest = await tx.liveActivity.findMany({
      where: { deviceId, activityId: { not: activityId } },
      orderBy: [{ registeredAt: "desc" }, { activityId: "asc" }],
      skip: MAX_TOKENS - 1,
      select: { activityId: true },
    });
    await tx.liveActivity.deleteMany({ where: { deviceId, OR: oldest } });
    return toLiveActivity(row);
  });
}

/**
 * Stores or replaces the token that starts Live Activities of a type. Keeps the 20 newest.
 * @throws AppError device_not_found, also for another account's device; device_not_active
 */
export function registerStartToken(
  { db, dbNow }: Deps,
  accountId: string,
  { deviceId, attributesType }: StartTokenParams,
  { token }: RegisterStartToken,
): Promise<StartToken> {
  return db.$transaction(async (tx) => {
    const registeredAt = await lockActiveDevice(tx, dbNow, accountId, deviceId);
    const row = await tx.liveActivityStartToken.upsert({
      where: { deviceId_attributesType: { deviceId, attributesType } },
      create: { deviceId, attributesType, token, registeredAt },
      update: { token, registeredAt },
    });
    const oldest = await tx.liveActivityStartToken.findMany({
      where: { deviceId, attributesType: { not: attributesType } },
      orderBy: [{ registeredAt: "desc" }, { attributesType: "asc" }],
      skip: MAX_TOKENS - 1,
      select: { attributesType: true },
    });
    await tx.liveActivityStartToken.deleteMany({ where: { deviceId, OR: oldest } });
    return toStartToken(row);
  });
}

/**
 * Removes the token of a Live Activity that has ended. Does nothing if there is none.
 * @throws AppError device_not_found
 */
export async function removeLiveActivity(
  { db }: Deps,
  accountId: string,
  { deviceId, activityId }: LiveActivityParams,
): Promise<void> {
  await requireDevice(db, accountId, deviceId);
  await db.liveActivity.deleteMany({ where: { deviceId, activityId } });
}

/**
 * Removes the token that starts Live Activities of a type. Does nothing if there is none.
 * @throws AppError device_not_found
 */
export async function removeStartToken(
  { db }: Deps,
  accountId: string,
  { deviceId, attributesType }: StartTokenParams,
): Promise<void> {
  await requireDevice(db, accountId, deviceId);
  await db.liveActivityStartToken.deleteMany({ where: { deviceId, attributesType } });
}

async function requireDevice(db: Tx, accountId: string, deviceId: string): Promise<void> {
  const isOwned = isUuid(deviceId) && (await db.pushDevice.count({ where: { id: deviceId, accountId } })) > 0;
  if (!isOwned) throw new AppError("device_not_found");
}

/** Serializes the registrations of a device, so that its tokens can be counted. Returns the database's time. */
async function lockActiveDevice(tx: Tx, dbNow: Deps["dbNow"], accountId: string, deviceId: string): Promise<Date> {
  if (!isUuid(deviceId)) throw new AppError("device_not_found");
  const [device] = await tx.$queryRaw<{ isActive: boolean; now: Date }[]>`
    SELECT "status" = 'active' AND "environment" <> 'web' AS "isActive", ${dbNow()} AS "now" FROM "PushDevice"
    WHERE "id" = ${deviceId}::uuid AND "accountId" = ${accountId}::uuid FOR NO KEY UPDATE`;
  if (!device) throw new AppError("device_not_found");
  if (!device.isActive) throw new AppError("device_not_active");
  return device.now;
}

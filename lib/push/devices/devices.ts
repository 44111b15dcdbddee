import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { idOr, NIL_ID } from "../../platform/db/ids";
import { deleteBatch, removeInBatches } from "../../platform/db/remove-in-batches";
import { sql } from "../../platform/db/sql";
import { findAccountId } from "../../platform/find-account";
import { type Device, toDevice, tokenSuffix, toLiveActivity, toStartToken } from "../schema";
import { findChallengeFailures } from "./challenges";
import type { Owner } from "./registration";

type Deps = Pick<Context, "db">;

const UNVERIFIED_HOURS = 24;

/** Returns an account's devices, newest first. */
export async function listDevices({ db }: Deps, { account, session }: Owner): Promise<Device[]> {
  const rows = await db.pushDevice.findMany({
    where: { accountId: account.id },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
  });
  const pending = rows.filter(({ status }) => status === "pending").map(({ id }) => id);
  const failures = await findChallengeFailures(db, pending);
  return rows.map((row) => toDevice(row, session.id, failures.get(row.id)));
}

/**
 * Deletes a device with its challenges and deliveries.
 * @throws AppError device_not_found, also for another account's device and for an id that is not a UUID
 */
export async function removeDevice({ db }: Deps, accountId: string, deviceId: string): Promise<void> {
  const { count } = await db.pushDevice.deleteMany({ where: { id: idOr(NIL_ID, deviceId), accountId } });
  if (count === 0) throw new AppError("device_not_found");
}

/**
 * Deletes the devices that sessions registered, or all devices of an account, with their challenges and deliveries. Call
 * it in the transaction that ends the sessions, after it has locked them: a concurrent registration then comes first.
 */
export async function removeDevices(tx: Tx, of: { accountId: string } | { sessionIds: string[] }): Promise<void> {
  const where = "accountId" in of ? of : { sessionId: { in: of.sessionIds } };
  await tx.pushDevice.deleteMany({ where });
}

/**
 * Deletes devices that are still unverified 24 hours after they registered, and challenges that expired as long ago.
 * Returns the number of rows. Locked rows are left to the next call.
 */
export async function removeUnverifiedDevices({ db, dbNow }: Pick<Context, "db" | "dbNow">): Promise<number> {
  const before = sql`${dbNow()} - interval '1 hour' * ${UNVERIFIED_HOURS}::int`;
  const isPending = sql`"status" = 'pending' AND "registeredAt" < ${before}`;
  const statements = [
    deleteBatch("PushChallenge", "id", sql`"expiresAt" < ${before}`, "expiresAt"),
    deleteBatch("PushDevice", "id", isPending, "registeredAt"),
  ];
  let removed = 0;
  for (const statement of statements) removed += await removeInBatches(() => db.$executeRaw(statement));
  return removed;
}

/** The devices of an account that receive notifications, the one last seen first. @throws AppError not_found */
export async function listActiveDevices({ db }: Pick<Context, "db">, account: string) {
  const accountId = await findAccountId({ db }, account);
  const where = { accountId, status: "active" } as const;
  return { accountId, devices: await db.pushDevice.findMany({ where, orderBy: { lastSeenAt: "desc" } }) };
}

/** Returns an account's devices for the data export, newest first. Tokens and endpoints are cut to their last 4 characters. */
export async function exportDevices(tx: Tx, accountId: string) {
  const devices = await tx.pushDevice.findMany({
    where: { accountId },
    omit: { accountId: true, keyId: true, publicKey: true, keyCounter: true, webPushKeys: true },
    include: { liveActivities: true, liveActivityStartTokens: true },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
  });
  return devices.map(({ token, liveActivities, liveActivityStartTokens, ...device }) => ({
    ...device,
    tokenSuffix: tokenSuffix(token),
    liveActivities: liveActivities.map(toLiveActivity),
    liveActivityStartTokens: liveActivityStartTokens.map(toStartToken),
  }));
}

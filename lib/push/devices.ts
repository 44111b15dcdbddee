import type { Context, Tx } from "../context";
import { isUuid } from "../db/ids";
import { AppError } from "../errors";
import { findChallengeFailures } from "./challenges";
import type { Owner } from "./owner";
import { type Device, toDevice } from "./schema";

type Deps = Pick<Context, "db">;

const UNVERIFIED_HOURS = 24;
/** Rows that one statement removes, so that none of them holds its locks for long. */
const BATCH = 1_000;

/** An account's devices, newest first. */
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
 * Removes a device, and with it in the same statement its challenges and deliveries.
 * @throws AppError device_not_found, for somebody else's device and for what is no id at all as well.
 */
export async function removeDevice({ db }: Deps, accountId: string, deviceId: string): Promise<void> {
  const isId = isUuid(deviceId);
  const { count } = isId ? await db.pushDevice.deleteMany({ where: { id: deviceId, accountId } }) : { count: 0 };
  if (count === 0) throw new AppError("device_not_found");
}

/**
 * Removes the devices that sessions registered, or all of an account, with their challenges and deliveries. Whatever
 * ends a session calls this in its transaction, after the session's row: a registration that holds it comes first.
 */
export async function removeDevices(tx: Tx, of: { accountId: string } | { sessionIds: string[] }): Promise<void> {
  const where = "accountId" in of ? of : { sessionId: { in: of.sessionIds } };
  await tx.pushDevice.deleteMany({ where });
}

/**
 * Removes devices that have not proved themselves for 24 hours after they registered, and challenges that ended as
 * long ago. Returns how many rows went; those that somebody is at work on are left to the next call.
 */
export async function removeUnverifiedDevices({ db, dbNow }: Pick<Context, "db" | "dbNow">): Promise<number> {
  const statements = [
    () => db.$executeRaw`
      DELETE FROM "PushChallenge" WHERE "id" IN (SELECT "id" FROM "PushChallenge"
        WHERE "expiresAt" < ${dbNow()} - interval '1 hour' * ${UNVERIFIED_HOURS}::int
        ORDER BY "expiresAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
    () => db.$executeRaw`
      DELETE FROM "PushDevice" WHERE "id" IN (SELECT "id" FROM "PushDevice"
        WHERE "status" = 'pending' AND "registeredAt" < ${dbNow()} - interval '1 hour' * ${UNVERIFIED_HOURS}::int
        ORDER BY "registeredAt" LIMIT ${BATCH}::integer FOR UPDATE SKIP LOCKED)`,
  ];
  let removed = 0;
  for (const remove of statements) {
    for (let count = BATCH; count >= BATCH; removed += count) count = await remove();
  }
  return removed;
}

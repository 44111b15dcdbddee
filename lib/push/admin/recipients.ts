import type { Context } from "../../context";
import { findAccountId } from "../../platform/find-account";

/** A device that receives notifications. */
export type ActiveDevice = Awaited<ReturnType<typeof listActiveDevices>>["devices"][number];

/** The devices of an account that receive notifications, the one last seen first. @throws AppError not_found */
export async function listActiveDevices({ db }: Pick<Context, "db">, account: string) {
  const accountId = await findAccountId({ db }, account);
  const devices = await db.pushDevice.findMany({
    where: { accountId, status: "active" },
    orderBy: { lastSeenAt: "desc" },
    select: {
      id: true,
      name: true,
      model: true,
      appVersion: true,
      bundleId: true,
      environment: true,
      lastSeenAt: true,
    },
  });
  return { accountId, devices };
}

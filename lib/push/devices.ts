import { z } from "zod";
import type { Context } from "../context";
import { AppError } from "../errors";
import type { Owner } from "./registration";
import { type Device, toDevice } from "./schema";

type Deps = Pick<Context, "db">;

/** An account's devices, newest first. */
export async function listDevices({ db }: Deps, { account, session }: Owner): Promise<Device[]> {
  const rows = await db.pushDevice.findMany({
    where: { accountId: account.id },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
  });
  return rows.map((row) => toDevice(row, session.id));
}

/**
 * Removes a device, and with it in the same statement its challenges and deliveries.
 * @throws AppError device_not_found, for somebody else's device and for what is no id at all as well.
 */
export async function removeDevice({ db }: Deps, accountId: string, deviceId: string): Promise<void> {
  const isId = z.uuid().safeParse(deviceId).success;
  const { count } = isId ? await db.pushDevice.deleteMany({ where: { id: deviceId, accountId } }) : { count: 0 };
  if (count === 0) throw new AppError("device_not_found");
}

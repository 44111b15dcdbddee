import type { Tx } from "../context";
import { composeNotification, type Message } from "./notifications";

/**
 * One thing to tell, to a device or to all of an account's that are active. `eventKey` names what happened: a device
 * hears of it once, however often it is enqueued.
 */
export type Enqueued = { eventKey: string; to: { deviceId: string } | { accountId: string }; message: Message };

/**
 * Puts a notification into the outbox, in the transaction of the event that causes it: neither is there without
 * the other. Returns the ids of the new rows, for `deliverSoon` after the commit.
 */
export async function enqueue(tx: Tx, now: Date, { eventKey, to, message }: Enqueued): Promise<string[]> {
  const devices = "deviceId" in to ? [to.deviceId] : await activeDevices(tx, to.accountId);
  if (devices.length === 0) return [];
  const notification = composeNotification(message, now);
  const rows = await tx.pushDelivery.createManyAndReturn({
    data: devices.map((deviceId) => ({ ...notification, deviceId, eventKey, nextAttemptAt: now, createdAt: now })),
    skipDuplicates: true,
    select: { id: true },
  });
  return rows.map(({ id }) => id);
}

async function activeDevices(tx: Tx, accountId: string): Promise<string[]> {
  const devices = await tx.pushDevice.findMany({ where: { accountId, status: "active" }, select: { id: true } });
  return devices.map(({ id }) => id);
}

import type { Tx } from "../context";
import { composeNotification, type Message } from "./notifications";

/** One thing to tell. `eventKey` names what happened: a device hears of it once, however often it is enqueued. */
export type Enqueued = { eventKey: string; to: { deviceId: string }; message: Message };

/**
 * Puts a notification into the outbox, in the transaction of the event that causes it: neither is there without
 * the other. Returns the ids of the new rows, for `deliverSoon` after the commit.
 */
export async function enqueue(tx: Tx, now: Date, { eventKey, to, message }: Enqueued): Promise<string[]> {
  const rows = await tx.pushDelivery.createManyAndReturn({
    data: [{ ...composeNotification(message, now), ...to, eventKey, nextAttemptAt: now, createdAt: now }],
    skipDuplicates: true,
    select: { id: true },
  });
  return rows.map(({ id }) => id);
}

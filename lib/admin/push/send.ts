import { randomUUID } from "node:crypto";
import { type Operator, recordOperatorEvent } from "../../audit/operator-events";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { enqueue } from "../../push/outbox/enqueue";
import { composeNotification } from "../../push/payload";
import { findAccountId } from "./find-account";
import { showMessage } from "./messages/list-messages";
import type { CustomMessage, PushMessageDetails } from "./schema";

type Recipient = { deviceId: string } | { accountId: string };
type Deps = Pick<Context, "db" | "dbNow" | "now" | "wakePush">;

/**
 * Queues a notification with an operator's text, for an account's devices or for one device. With the same `key`, it is
 * queued once.
 * @throws AppError not_found for an unknown account; no_active_device; notifications_turned_off; validation_failed for
 * more than 4,096 bytes
 */
export async function sendMessage(
  deps: Deps,
  operator: Operator,
  { kind, to, title, body, link = null }: CustomMessage,
  key: string = randomUUID(),
): Promise<PushMessageDetails> {
  const { db, dbNow, now, wakePush } = deps;
  const message = { kind, title, body, link };
  requireThatItFits(message);
  const recipient: Recipient =
    "deviceId" in to ? { deviceId: to.deviceId } : { accountId: await findAccountId(deps, to.account) };
  const eventKey = `custom:${key}`;
  const id = await db.$transaction(async (tx) => {
    const devices = await enqueue(tx, dbNow(), { eventKey, to: recipient, message });
    const stored = await tx.pushMessage.findUnique({ where: { eventKey }, select: { id: true } });
    if (stored === null) throw await notQueued(tx, recipient);
    if (devices === 0) return stored.id; // it was queued before
    const event = {
      type: "push_sent",
      target: `push:${stored.id}`,
      details: { ...(recipient as Record<string, string>), devices },
    } as const;
    await recordOperatorEvent(tx, now(), operator, event);
    return stored.id;
  });
  wakePush();
  return showMessage(deps, id);
}

/** Why a notification was queued for no device. */
async function notQueued(tx: Tx, recipient: Recipient): Promise<AppError> {
  const where = "deviceId" in recipient ? { id: recipient.deviceId } : recipient;
  const isMuted = (await tx.pushDevice.count({ where: { ...where, status: "active" } })) > 0;
  return new AppError(isMuted ? "notifications_turned_off" : "no_active_device");
}

/** @throws AppError validation_failed */
function requireThatItFits(message: Parameters<typeof composeNotification>[0]): void {
  try {
    composeNotification(message);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AppError("validation_failed", { errors: [{ pointer: "/body", code: "too_big", detail: error.message }] });
  }
}

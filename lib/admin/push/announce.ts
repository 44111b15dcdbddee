import { type Operator, recordOperatorEvent } from "../../audit/operator-events";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { startBroadcast } from "../../push/outbox/broadcasts";
import { estimateAnnouncement } from "./estimate";
import { showMessage } from "./messages/list-messages";
import type { Announcement } from "./messages/new-message";
import type { PushMessageDetails } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "now" | "wakePush">;

/**
 * Announces a version to every device, or to those of one app. Workers queue and send the notifications, `perSecond` of
 * them a second. Each device is notified of a version once: announcing it again reaches the devices that were not.
 * @throws AppError validation_failed for an unknown app; announcement_in_progress for another app
 */
export async function announceVersion(
  deps: Deps,
  operator: Operator,
  { version, to, perSecond }: Announcement,
): Promise<PushMessageDetails> {
  const { db, dbNow, now, wakePush } = deps;
  const bundleId = to.bundleId ?? null;
  const { devices } = await estimateAnnouncement(deps, { bundleId: bundleId ?? undefined, perSecond });
  const eventKey = `version:${version}`;
  const message = { kind: "app.new_version", version } as const;
  const id = await db.$transaction(async (tx) => {
    const id = await startBroadcast(tx, dbNow(), { eventKey, message, bundleId, perSecond, estimatedDevices: devices });
    const broadcast = await tx.pushBroadcast.findUniqueOrThrow({ where: { messageId: id } });
    if (broadcast.bundleId !== bundleId) throw new AppError("announcement_in_progress");
    const details = { version, bundleId, perSecond, devices };
    await recordOperatorEvent(tx, now(), operator, { type: "push_announced", target: `push:${id}`, details });
    return id;
  });
  wakePush();
  return showMessage(deps, id);
}

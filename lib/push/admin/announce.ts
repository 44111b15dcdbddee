import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import type { Audience } from "../audience/audience";
import { startBroadcast } from "../outbox/broadcasts";
import { withWarnings } from "./announcement-warnings";
import { estimateAnnouncement, estimateAudience } from "./estimate";
import { showMessage } from "./messages/list-messages";
import type { Announcement } from "./messages/new-message";
import type { SentMessage } from "./schema";
import { requireSendAtInRange } from "./send";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "entitledAccounts" | "now" | "rollouts" | "wakePush">;

/**
 * Announces a version to every device, to those of one app, or to an audience. Workers queue and send the notifications, `perSecond` of
 * them a second. Each device is notified of a version once: announcing it again reaches the devices that were not. A version that
 * is not published is announced, too, with a warning: an app may be distributed by a store.
 * @throws AppError validation_failed for an unknown app and a time too far ahead; announcement_in_progress for other devices
 */
export async function announceVersion(
  deps: Deps,
  operator: Operator,
  announcement: Announcement,
): Promise<SentMessage> {
  const { db, dbNow, now, wakePush } = deps;
  const { version, to, perSecond, sendAt = null } = announcement;
  requireSendAtInRange(sendAt, now());
  const audience = "audience" in to ? to.audience : null;
  const bundleId = ("audience" in to ? to.audience.bundleId : to.bundleId) ?? null;
  const estimate = audience
    ? await estimateAudience(deps, { audience, perSecond })
    : await estimateAnnouncement(deps, { bundleId: bundleId ?? undefined, perSecond });
  const { devices } = estimate;
  const eventKey = `version:${version}`;
  const message = { kind: "app.new_version", version } as const;
  const id = await db.$transaction(async (tx) => {
    const broadcast = { bundleId, audience, perSecond, estimatedDevices: devices, startsAt: sendAt };
    const id = await startBroadcast(tx, dbNow(), { eventKey, message, ...broadcast });
    const started = await tx.pushBroadcast.findUniqueOrThrow({ where: { messageId: id } });
    const isSame = started.bundleId === bundleId && isDeepStrictEqual(started.audience, toJson(audience));
    if (!isSame) throw new AppError("announcement_in_progress");
    const to = { bundleId, audience: audience && JSON.stringify(audience), sendAt: sendAt?.toISOString() ?? null };
    const details = { version, ...to, perSecond, devices };
    await recordOperatorEvent(tx, now(), operator, { type: "push_announced", target: `push:${id}`, details });
    return id;
  });
  wakePush();
  const { warnings } = await withWarnings(deps, announcement, estimate);
  return { ...(await showMessage(deps, id)), warnings };
}

/** An audience as it is stored: without undefined fields. */
const toJson = (audience: Audience | null): unknown => JSON.parse(JSON.stringify(audience));

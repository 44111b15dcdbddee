import { isDeepStrictEqual } from "node:util";
import { parse } from "semver";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { startBroadcast } from "../outbox/broadcasts";
import { estimateAnnouncement, estimateAudience } from "./estimate";
import { showMessage } from "./list-messages";
import type { Announcement } from "./new-message";
import type { Estimate, EstimateWithWarnings, SentMessage } from "./schema";
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
    const asStored: unknown = JSON.parse(JSON.stringify(audience)); // without undefined fields
    const isSame = started.bundleId === bundleId && isDeepStrictEqual(started.audience, asStored);
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

/** Adds to an estimate what is likely to be a mistake in the announcement of a version. */
export async function withWarnings(
  deps: Pick<Context, "catalog" | "rollouts">,
  { version }: { version?: string | undefined },
  estimate: Estimate,
): Promise<EstimateWithWarnings> {
  if (version === undefined || (await isOffered(deps, version))) return { ...estimate, warnings: [] };
  const { devices, isExact } = estimate;
  const count = `${isExact ? "" : "about "}${devices.toLocaleString("en")} ${devices === 1 ? "device" : "devices"}`;
  const detail =
    `${version} is not published: no release that is offered now has this version. Announcing it notifies ${count}. ` +
    "Apps that update from Homeport would find no update.";
  return { ...estimate, warnings: [{ code: "version_not_published", detail }] };
}

/** Whether a release of the version is served, to some clients at least. Without a catalog, nothing is known of versions. */
export async function isOffered(
  { catalog, rollouts }: Pick<Context, "catalog" | "rollouts">,
  version: string,
): Promise<boolean> {
  // The process of a command reads them when they are needed.
  if (catalog.current() === null) await Promise.all([catalog.refresh(), rollouts.refresh()]);
  const snapshot = catalog.current();
  if (snapshot === null) return true;
  const announced = parse(withThreeNumbers(version));
  return [...snapshot.releasesByVersion.values()]
    .flat()
    .some(
      ({ rollout, buildVersion, version: published }) =>
        rollout > 0 && (buildVersion === version || (announced !== null && published.compare(announced) === 0)),
    );
}

/** An app's version may have one or two numbers: zeros follow them. */
function withThreeNumbers(version: string): string {
  const [numbers = ""] = /^[\d.]+/.exec(version) ?? [];
  const missing = Math.max(0, 3 - numbers.split(".").length);
  return `${numbers}${".0".repeat(missing)}${version.slice(numbers.length)}`;
}

import { randomUUID } from "node:crypto";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange, recordOperatorEvent } from "../../platform/audit/operator-events";
import type { EventExtra } from "../../platform/audit/security-events";
import { readDatabaseTime } from "../../platform/db/clock";
import { findAccountId } from "../../platform/find-account";
import type { Operator } from "../../principal";
import { isLiveActivityMessage } from "../messages";
import type { Message } from "../notifications";
import { startBroadcast } from "../outbox/broadcasts";
import { enqueue } from "../outbox/enqueue";
import { EVERY_DEVICE, type MessageTarget, mayReachBrowsers } from "../outbox/recipients";
import { composeNotification } from "../payload";
import { requireFitsBrowsers } from "../web-push";
import { estimateRecipients } from "./estimate";
import { showMessage } from "./list-messages";
import type { OperatorMessage } from "./new-message";
import { DEFAULT_PER_SECOND, type PushMessageDetails } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "entitledAccounts" | "now" | "wakePush">;

const MAX_AHEAD_DAYS = 90;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Queues a notification that an operator wrote, for an account's devices or one device. For an audience or a later time,
 * workers queue it. With the same `key`, it is queued once.
 * @throws AppError not_found for an unknown account; no_active_device; no_live_activity; notifications_turned_off;
 * validation_failed for more than 4,096 bytes (encrypted, if it is for browsers), an unknown app, and a time too far ahead
 */
export async function sendMessage(
  deps: Deps,
  operator: Operator,
  given: OperatorMessage,
  key: string = randomUUID(),
): Promise<PushMessageDetails> {
  const { sendAt = null, perSecond = DEFAULT_PER_SECOND } = given;
  const message = toMessage(given, await readDatabaseTime(deps, sendAt));
  requireFits(message, composeNotification);
  requireSendAtInRange(sendAt, deps.now());
  const target = await findTarget(deps, given.to);
  if (!isLiveActivityMessage(message) && (await mayReachBrowsers(deps.db, target)))
    requireFits(message, (one) => requireFitsBrowsers(composeNotification(one)));
  const isDirect = target.audience === null && (sendAt === null || sendAt <= deps.now());
  const event = { eventKey: `custom:${key}`, message };
  const estimate = isDirect ? null : await estimateRecipients(deps, target);
  const id = await deps.db.$transaction(async (tx) => {
    const stored = await tx.pushMessage.findUnique({ where: { eventKey: event.eventKey }, select: { id: true } });
    if (stored) return stored.id;
    return estimate === null
      ? sendNow(tx, deps, operator, { ...event, target })
      : schedule(tx, deps, operator, { ...event, target, perSecond, sendAt, estimatedDevices: estimate.devices });
  });
  deps.wakePush();
  return showMessage(deps, id);
}

/** `at` is by the database's clock: the times of updates of a Live Activity have to be comparable. */
function toMessage({ to, sendAt, perSecond, ...message }: OperatorMessage, at: Date): Message {
  if (message.kind === "custom") return { ...message, link: message.link ?? null };
  return message.kind === "background" ? message : { ...message, at };
}

async function findTarget(deps: Deps, to: OperatorMessage["to"]): Promise<MessageTarget> {
  if ("audience" in to) return { ...EVERY_DEVICE, audience: to.audience };
  if ("deviceId" in to) return { ...EVERY_DEVICE, deviceId: to.deviceId };
  return { ...EVERY_DEVICE, accountId: await findAccountId(deps, to.account) };
}

type Recipient = { deviceId: string } | { accountId: string };
type Event = { eventKey: string; message: Message; target: MessageTarget };

async function sendNow(tx: Tx, deps: Deps, operator: Operator, { eventKey, message, target }: Event): Promise<string> {
  const { accountId, deviceId } = target;
  const to: Recipient = accountId === null ? { deviceId: deviceId ?? "" } : { accountId };
  const devices = await enqueue(tx, deps.dbNow(), { eventKey, to, message });
  const stored = await tx.pushMessage.findUnique({ where: { eventKey }, select: { id: true } });
  if (stored === null) throw await notQueued(tx, to, message);
  if (devices === 0) return stored.id; // it was queued before
  await recordSent(tx, deps, operator, target, { messageId: stored.id, details: { deviceId, devices } });
  return stored.id;
}

type Scheduled = Event & { sendAt: Date | null; perSecond: number; estimatedDevices: number };

async function schedule(tx: Tx, deps: Deps, operator: Operator, scheduled: Scheduled): Promise<string> {
  const { eventKey, message, target, perSecond, sendAt, estimatedDevices } = scheduled;
  const { deviceId, audience } = target;
  const bundleId = audience?.bundleId ?? null;
  const broadcast = { eventKey, message, ...target, bundleId, perSecond, estimatedDevices, startsAt: sendAt };
  const id = await startBroadcast(tx, deps.dbNow(), broadcast);
  const to = { deviceId, audience: audience && JSON.stringify(audience) };
  const details = { ...to, sendAt: sendAt?.toISOString() ?? null, devices: estimatedDevices };
  await recordSent(tx, deps, operator, target, { messageId: id, details });
  return id;
}

/** Records a message to an account, or to a device of one, in the account's trail: its deletion removes what names either. */
async function recordSent(
  tx: Tx,
  { now }: Pick<Deps, "now">,
  operator: Operator,
  { accountId, deviceId }: MessageTarget,
  { messageId, details }: { messageId: string } & Required<Pick<EventExtra, "details">>,
): Promise<void> {
  const event = { type: "push_sent", target: `push:${messageId}`, details } as const;
  const device = deviceId && (await tx.pushDevice.findUnique({ where: { id: deviceId }, select: { accountId: true } }));
  const ownerId = device ? device.accountId : accountId;
  if (ownerId === null) return recordOperatorEvent(tx, now(), operator, event);
  return recordAccountChange(tx, now(), operator, ownerId, event);
}

/** Why a notification was queued for no device. */
async function notQueued(tx: Tx, to: Recipient, message: Message): Promise<AppError> {
  const where = "deviceId" in to ? { id: to.deviceId } : to;
  const isActive = (await tx.pushDevice.count({ where: { ...where, status: "active" } })) > 0;
  if (!isActive) return new AppError("no_active_device");
  return new AppError(isLiveActivityMessage(message) ? "no_live_activity" : "notifications_turned_off");
}

/** The field that makes a message of a kind large. */
const POINTERS: Partial<Record<Message["kind"], string>> = { custom: "/body", background: "/data" };

/** @throws AppError validation_failed if `measure` throws a RangeError */
function requireFits(message: Message, measure: (message: Message) => unknown): void {
  try {
    measure(message);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const pointer = POINTERS[message.kind] ?? "/contentState";
    throw new AppError("validation_failed", { errors: [{ pointer, code: "too_big", detail: error.message }] });
  }
}

/** @throws AppError validation_failed for a time more than 90 days ahead */
export function requireSendAtInRange(sendAt: Date | null, now: Date): void {
  if (sendAt === null || sendAt.getTime() <= now.getTime() + MAX_AHEAD_DAYS * DAY_MS) return;
  const detail = `Must be at most ${MAX_AHEAD_DAYS} days ahead`;
  throw new AppError("validation_failed", { errors: [{ pointer: "/sendAt", code: "too_big", detail }] });
}

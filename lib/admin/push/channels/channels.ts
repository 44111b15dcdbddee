import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { readDatabaseTime } from "../../../db/clock";
import { AppError } from "../../../errors";
import { apsOfContent } from "../../../push/live-activities/message";
import type { Broadcast, Channel, ChannelApp, Channels, NewBroadcast, NewChannel } from "./schema";

type Deps = Pick<Context, "config" | "log" | "push">;
type ChangeDeps = Deps & Pick<Context, "db" | "dbNow" | "now">;
type Api = NonNullable<NonNullable<Context["push"]>["channels"]>;
type ChannelResponse = Awaited<ReturnType<Api["list"]>>;

/** Apple, "Sending broadcast push notification requests to APNs". */
const MAX_BROADCAST_BYTES = 5_120;
const DEFAULT_PRIORITY = 10;

/** The ids of an app's channels. @throws AppError as `sendRequest`; validation_failed for an unknown app */
export async function listChannels(deps: Deps, given: ChannelApp): Promise<Channels> {
  const app = appOf(deps, given);
  const { channelIds = [] } = await sendRequest(deps, (channels) => channels.list(app));
  return { ...app, channels: channelIds.map(idsOf) };
}

/** A channel. @throws AppError not_found; as above */
export async function showChannel(deps: Deps, id: string, given: ChannelApp): Promise<Channel> {
  const app = appOf(deps, given);
  const channelId = fromBase64url(id);
  const { isStored = false } = await sendRequest(deps, (channels) => channels.read(app, channelId));
  return toChannel(channelId, app, isStored);
}

/** Creates a channel. @throws AppError as above; apns_rejected for more than 10,000 of an app */
export async function createChannel(deps: ChangeDeps, operator: Operator, given: NewChannel): Promise<Channel> {
  const app = appOf(deps, given);
  const isStored = given.messageStoragePolicy === "most_recent";
  const { channelId } = await sendRequest(deps, (channels) => channels.create(app, isStored));
  if (channelId === undefined) throw new AppError("apns_unavailable");
  await record(deps, operator, "push_channel_created", channelId, app);
  return toChannel(channelId, app, isStored);
}

/** Deletes a channel: its Live Activities get no more updates. @throws AppError not_found; as above */
export async function deleteChannel(
  deps: ChangeDeps,
  operator: Operator,
  id: string,
  given: ChannelApp,
): Promise<void> {
  const app = appOf(deps, given);
  const channelId = fromBase64url(id);
  await sendRequest(deps, (channels) => channels.remove(app, channelId));
  await record(deps, operator, "push_channel_deleted", channelId, app);
}

/**
 * Sends a notification to all Live Activities that subscribe to a channel. Requests this of APNs at once instead of
 * queueing it: it is one request for any number of devices, and a queued state would be outdated.
 * @throws AppError not_found; as above; validation_failed for more than 5,120 bytes
 */
export async function sendBroadcast(
  deps: ChangeDeps,
  operator: Operator,
  id: string,
  given: NewBroadcast,
): Promise<Broadcast> {
  const app = appOf(deps, given);
  const channelId = fromBase64url(id);
  const { event, ttlSeconds, priority = DEFAULT_PRIORITY } = given;
  const sentAt = await readDatabaseTime(deps);
  const body = JSON.stringify({ aps: apsOfContent(event, sentAt, given) });
  assertPayloadFits(body);
  const expiresAt = ttlSeconds === 0 ? null : new Date(sentAt.getTime() + 1000 * ttlSeconds);
  await sendRequest(deps, (channels) => channels.broadcast({ ...app, channelId, priority, expiresAt, body }));
  await record(deps, operator, "push_sent", channelId, app);
  return { channelId, sentAt };
}

/**
 * Sends a request to APNs.
 * @throws AppError push_not_configured; not_found for an unknown channel; apns_rejected with APNs's `reason`;
 * apns_unavailable if APNs does not respond, or asks to retry later
 */
async function sendRequest(
  { log, push }: Deps,
  request: (channels: Api) => Promise<ChannelResponse>,
): Promise<ChannelResponse> {
  if (!push?.channels) throw new AppError("push_not_configured");
  const response = await request(push.channels).catch((error: unknown) => {
    log.warn({ err: error }, "no response from APNs about channels");
    throw new AppError("apns_unavailable", { cause: error });
  });
  const { status, reason, retryAfterSeconds } = response;
  if (status >= 200 && status < 300) return response;
  if (reason === "ChannelNotRegistered" || reason === "BadChannelId") throw new AppError("not_found");
  const fields = { reason };
  if (status === 429 || status >= 500) throw new AppError("apns_unavailable", { fields, retryAfterSeconds });
  throw new AppError("apns_rejected", { detail: `APNs says: ${status} ${reason}`, fields });
}

function appOf({ config }: Pick<Context, "config">, { environment, bundleId }: ChannelApp) {
  const known = config.APNS_BUNDLE_IDS;
  const chosen = bundleId ?? known[0];
  if (chosen !== undefined && known.includes(chosen)) return { environment, bundleId: chosen };
  const detail = `${bundleId} is not in APNS_BUNDLE_IDS: ${known.join(", ")}`;
  throw new AppError("validation_failed", { errors: [{ pointer: "/bundleId", code: "unknown_bundle_id", detail }] });
}

function assertPayloadFits(body: string): void {
  const sizeBytes = Buffer.byteLength(body);
  if (sizeBytes <= MAX_BROADCAST_BYTES) return;
  const detail = `The payload has ${sizeBytes} bytes; APNs accepts ${MAX_BROADCAST_BYTES}`;
  throw new AppError("validation_failed", { errors: [{ pointer: "/contentState", code: "too_big", detail }] });
}

async function record(
  { db, now }: ChangeDeps,
  operator: Operator,
  type: "push_channel_created" | "push_channel_deleted" | "push_sent",
  channelId: string,
  app: { environment: string; bundleId: string },
): Promise<void> {
  const event = { type, target: `channel:${channelId}`, details: app };
  await db.$transaction((tx) => recordOperatorEvent(tx, now(), operator, event));
}

function toChannel(channelId: string, app: ReturnType<typeof appOf>, isStored: boolean): Channel {
  return { ...idsOf(channelId), ...app, messageStoragePolicy: isStored ? "most_recent" : "none" };
}

/** Base64 has characters that a path would have to escape. */
function idsOf(channelId: string) {
  return { id: Buffer.from(channelId, "base64").toString("base64url"), channelId };
}

function fromBase64url(id: string): string {
  return Buffer.from(id, "base64url").toString("base64");
}

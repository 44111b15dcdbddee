import type { Context, EndpointNotAllowed, PushResponse } from "../../context";
import { backoffSeconds } from "../../platform/db/queue";
import { optionsOfKind } from "../notifications";
import { CANCELED, OUTDATED } from "../outbox/receipts";
import { type Outgoing, toNotification } from "../payload";
import { toWebPushMessage } from "../web-push";
import { type ClaimedPush, claimAgeMs, databaseTime } from "./claim-deliveries";
import { MAX_ATTEMPTS, PAUSED, type PushOutcome } from "./outcomes";
import type { PauseState } from "./pause-state";

/** Returns why a delivery must not be sent any more, or null. A browser has to show every message that it gets. */
export function cancellationReason(row: Outgoing, now: Date): string | null {
  const { kind, isCanceled, isOutdated } = row.message;
  if (isCanceled) return CANCELED;
  if (row.expiresAt <= now) return "expired";
  if (isOutdated) return OUTDATED;
  if (row.liveActivity?.isSuperseded) return "superseded";
  if (row.liveActivity?.token === null) return "no_live_activity";
  const options = optionsOfKind(kind);
  if (options?.level === "background" && row.environment === "web") return "background_not_supported";
  if (!options) return "unknown_kind";
  return row.status === options.recipientStatus ? null : "device_state";
}

/** The delay before each attempt. `retryAfterSeconds` is the response's Retry-After. */
type RetryDelays = { delaysSeconds: readonly number[]; retryAfterSeconds?: number };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** A Retry-After may shorten this many delays. The attempts must outlast an outage. */
const MAX_SHORTENED_DELAYS = 3;
/** Applies to a Retry-After of 0, and to a date that has passed by this machine's clock. */
const MIN_RETRY_AFTER_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 2 * HOUR;

const TOO_MANY_REQUESTS_DELAYS_SECONDS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];
const SERVER_ERROR_DELAYS_SECONDS = [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];
const UNREACHABLE_DELAYS_SECONDS = [5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR];

/**
 * Returns when to try again: after half to all of the delay, so that eight attempts outlast an outage of an hour and
 * deliveries that failed together are not retried together. Never before a Retry-After, and soon after it the first
 * times. `attempts` is the number of attempts before this one. null after the last attempt, or if the next would come after the expiry. `random` is from 0 to 1.
 */
export function nextAttempt(
  { delaysSeconds, retryAfterSeconds }: RetryDelays,
  { attempts, expiresAt }: Pick<ClaimedPush, "attempts" | "expiresAt">,
  now: Date,
  random: number,
): Date | null {
  if (attempts + 1 >= MAX_ATTEMPTS) return null;
  const backoff = backoffSeconds(delaysSeconds, attempts + 1, random);
  const boundedSeconds = Math.min(Math.max(retryAfterSeconds ?? 0, MIN_RETRY_AFTER_SECONDS), MAX_RETRY_AFTER_SECONDS);
  const requestedSeconds = retryAfterSeconds === undefined ? 0 : boundedSeconds * (1 + random / 2);
  const isShortened = retryAfterSeconds !== undefined && attempts < MAX_SHORTENED_DELAYS;
  const seconds = isShortened ? requestedSeconds : Math.max(backoff, requestedSeconds);
  const at = new Date(now.getTime() + 1000 * seconds);
  return at < expiresAt ? at : null;
}

/** APNs rejects the provider token: an operator has to correct the configuration. */
const PROVIDER_TOKEN_PAUSE_SECONDS = 5 * MINUTE;
/** A provider token may be renewed every 20 minutes (Apple, "Establishing a token-based connection to APNs"). */
const TOKEN_UPDATES_PAUSE_SECONDS = 20 * MINUTE;

/** Returns what a result means for its delivery (Apple, "Handling notification responses from APNs", tables 4 to 6). */
export function classifyApnsResult(result: PushResult): ResultAction {
  const { status, reason } = result;
  if (status === 200) return { action: "sent" };
  if (status === 410) return { action: "fail", device: "unregistered" };
  if (status === 400 && (reason === "BadDeviceToken" || reason === "DeviceTokenNotForTopic"))
    return { action: "fail", device: "rejected" };
  if (status === 403) return { action: "pause", seconds: PROVIDER_TOKEN_PAUSE_SECONDS };
  if (status === 429 && reason === "TooManyProviderTokenUpdates")
    return { action: "pause", seconds: TOKEN_UPDATES_PAUSE_SECONDS };
  return retryOrFail(result);
}

/**
 * Returns what a push service's response means for its delivery (RFC 8030, sections 5 to 8). Nothing pauses: a response
 * says nothing about other push services, and a client that made up an endpoint may get any.
 */
function classifyWebPushResult(result: PushResult): ResultAction {
  const { status, reason } = result;
  if (status === null && reason === "EndpointNotAllowed") return { action: "fail", device: "unaffected" };
  if (status !== null && status >= 200 && status < 300) return { action: "sent" };
  if (status === 404 || status === 410) return { action: "fail", device: "unregistered" };
  if (status !== null && status >= 300 && status < 400) return { action: "fail", device: "unaffected" };
  return retryOrFail(result);
}

function retryOrFail(result: PushResult): ResultAction {
  if (result.status === null) return { action: "retry", delaysSeconds: UNREACHABLE_DELAYS_SECONDS };
  const { status, retryAfterSeconds } = result;
  if (status === 429) return { action: "retry", delaysSeconds: TOO_MANY_REQUESTS_DELAYS_SECONDS, retryAfterSeconds };
  if (status >= 400 && status < 500) return { action: "fail", device: "unaffected" };
  return { action: "retry", delaysSeconds: SERVER_ERROR_DELAYS_SECONDS, retryAfterSeconds };
}

type Deps = Pick<Context, "log" | "now" | "push" | "webPush"> & {
  pauses: PauseState;
  isStopping: () => boolean;
  /** Receives the time that each response of APNs took. */
  recordLatency: (ms: number) => void;
};

/** An older claim is released: the device may have changed since, and the lease must outlast the request. */
const MAX_CLAIM_AGE_MS = 5_000;
/** Devices of an earlier configuration wait for another one. */
const NOT_CONFIGURED_PAUSE_SECONDS = 5 * MINUTE;
/** A rejected device token counts as a pause while the circuit breaker is open. */
const CIRCUIT_BREAKER_PAUSE: ResultAction = { action: "pause", seconds: 15 * MINUTE };

/** Sends a claimed delivery, unless it has to be canceled, requeued or paused. Never throws. */
export async function deliver(deps: Deps, row: ClaimedPush): Promise<PushOutcome> {
  const { pauses, now } = deps;
  const startedAt = now();
  const reason = cancellationReason(row, databaseTime(row, startedAt));
  if (reason) return { row, state: "cancelled", apnsStatus: null, reason };
  const isPaused = pauses.isPaused(row);
  if (isPaused && (await isPaused)) return requeue(row, PAUSED);
  if (claimAgeMs(row, startedAt) > MAX_CLAIM_AGE_MS || deps.isStopping()) return requeue(row, null);
  if (!row.web && !deps.push) {
    await pauses.pause(row, NOT_CONFIGURED_PAUSE_SECONDS, "APNs is not configured");
    return requeue(row, PAUSED);
  }
  const result = await send(deps, row);
  let action = row.web ? classifyWebPushResult(result) : classifyApnsResult(result);
  // Tokens of Live Activities are not verified, so they say nothing about our key and host.
  const isRejected = action.action === "fail" && action.device === "rejected" && row.liveActivity === null;
  const isOpened = result.status !== null && row.liveActivity === null && pauses.recordResult(row, isRejected);
  if (isOpened || (isRejected && (await pauses.isPaused(row)))) action = CIRCUIT_BREAKER_PAUSE;
  if (action.action !== "pause") return outcomeOf(row, result, action, databaseTime(row, now()));
  await pauses.pause(row, action.seconds, `${result.status} ${result.reason}`);
  return requeue(row, PAUSED);
}

async function send({ log, now, push, webPush, recordLatency }: Deps, row: ClaimedPush): Promise<PushResult> {
  const { web } = row;
  try {
    if (web) return await webPush.send(toWebPushMessage({ ...row, web }, databaseTime(row, now())));
    if (!push) throw new Error("APNs is not configured");
    const startedAtMs = performance.now();
    const response = await push.send(toNotification(row));
    recordLatency(performance.now() - startedAtMs);
    return response;
  } catch (error) {
    log.debug({ err: error, id: row.id }, "no response from the push service");
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    return { status: null, reason: isTimeout ? "timeout" : "unreachable" };
  }
}

function outcomeOf(
  row: ClaimedPush,
  result: PushResult,
  action: Exclude<ResultAction, { action: "pause" }>,
  now: Date,
): PushOutcome {
  const { status: apnsStatus, reason } = result;
  if (action.action === "sent") return { row, state: "sent", apnsStatus, reason: null };
  if (action.action === "fail" && action.device !== "unaffected") {
    const invalidSince = result.status === 410 && result.timestamp ? result.timestamp : row.claimedAt;
    return { row, state: "failed", apnsStatus, reason, invalidSince };
  }
  const nextAttemptAt = action.action === "retry" ? nextAttempt(action, row, now, Math.random()) : null;
  if (!nextAttemptAt) return { row, state: "failed", apnsStatus, reason };
  return { row, state: "queued", nextAttemptAt, isAttempted: true, apnsStatus, reason };
}

/** Requeues what was not attempted: for the end of the pause, or at once. */
function requeue(row: ClaimedPush, reason: typeof PAUSED | null): PushOutcome {
  const nextAttemptAt = reason === PAUSED ? null : row.claimedAt;
  return { row, state: "queued", nextAttemptAt, isAttempted: false, apnsStatus: null, reason };
}

/** The response to a notification, or why there was none. */
type PushResult = PushResponse | EndpointNotAllowed | { status: null; reason: "timeout" | "unreachable" };

/**
 * What to do with a delivery. `fail` also says what the result means for the device: `unregistered` invalidates it
 * unless the app has registered since; `rejected` does so too, unless the circuit breaker opens. `pause` stops all
 * deliveries to the environment.
 */
type ResultAction =
  | { action: "sent" }
  | { action: "fail"; device: "unaffected" | "unregistered" | "rejected" }
  | ({ action: "retry" } & RetryDelays)
  | { action: "pause"; seconds: number };

import type { Context } from "../../context";
import { cancellationReason } from "../cancellation-reason";
import { toNotification } from "../payload";
import type { PushResult, ResultAction } from "../push-result";
import { nextAttempt } from "../retry-delays";
import { toWebPushMessage } from "../web/message";
import { classifyWebPushResult } from "../web/result";
import { CIRCUIT_BREAKER_PAUSE_SECONDS, classifyApnsResult } from "./apns-result";
import { type ClaimedPush, claimAgeMs, claimedAt, databaseTime } from "./claim-deliveries";
import { PAUSED, type PushOutcome } from "./outcomes";
import type { PauseState } from "./pause-state";

type Deps = Pick<Context, "log" | "now" | "push" | "webPush"> & {
  pauses: PauseState;
  isStopping: () => boolean;
  /** Receives the time that each response of APNs took. */
  recordLatency: (ms: number) => void;
};

/** An older claim is released: the device may have changed since, and the lease must outlast the request. */
const MAX_CLAIM_AGE_MS = 5_000;
/** Devices of an earlier configuration wait for another one. */
const NOT_CONFIGURED_PAUSE_SECONDS = 5 * 60;
/** A rejected device token counts as a pause while the circuit breaker is open. */
const CIRCUIT_BREAKER_PAUSE: ResultAction = { action: "pause", seconds: CIRCUIT_BREAKER_PAUSE_SECONDS };

/** Sends a claimed delivery, unless it has to be canceled, requeued or paused. Never throws. */
export async function deliver(deps: Deps, row: ClaimedPush): Promise<PushOutcome> {
  const { pauses, now } = deps;
  const startedAt = now();
  const reason = cancellationReason(row, databaseTime(row, startedAt));
  if (reason) return { row, state: "cancelled", apnsStatus: null, reason };
  const isPaused = pauses.isPaused(row);
  if (isPaused && (await isPaused)) return requeueAfterPause(row);
  if (claimAgeMs(row, startedAt) > MAX_CLAIM_AGE_MS || deps.isStopping()) return requeueUntried(row);
  if (!row.web && !deps.push) {
    await pauses.pause(row, NOT_CONFIGURED_PAUSE_SECONDS, "APNs is not configured");
    return requeueAfterPause(row);
  }
  const result = await send(deps, row);
  let action = row.web ? classifyWebPushResult(result) : classifyApnsResult(result);
  // Tokens of Live Activities are not verified, so they say nothing about our key and host.
  const isRejected = action.action === "fail" && action.device === "rejected" && row.liveActivity === null;
  const isOpened = result.status !== null && row.liveActivity === null && pauses.recordResult(row, isRejected);
  if (isOpened || (isRejected && (await pauses.isPaused(row)))) action = CIRCUIT_BREAKER_PAUSE;
  if (action.action !== "pause") return outcomeOf(row, result, action, databaseTime(row, now()));
  await pauses.pause(row, action.seconds, `${result.status} ${result.reason}`);
  return requeueAfterPause(row);
}

async function send(deps: Deps, row: ClaimedPush): Promise<PushResult> {
  const { log, recordLatency } = deps;
  const startedAtMs = performance.now();
  try {
    const response = await request(deps, row);
    if (!row.web) recordLatency(performance.now() - startedAtMs); // a slow push service of browsers is not APNs
    return response;
  } catch (error) {
    log.debug({ err: error, id: row.id }, "no response from the push service");
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    return { status: null, reason: isTimeout ? "timeout" : "unreachable" };
  }
}

async function request({ now, push, webPush }: Deps, row: ClaimedPush): Promise<PushResult> {
  const { web } = row;
  if (web) return webPush.send(toWebPushMessage({ ...row, web }, databaseTime(row, now())));
  if (!push) throw new Error("APNs is not configured");
  return push.send(toNotification(row));
}

function outcomeOf(
  row: ClaimedPush,
  result: PushResult,
  action: Exclude<ResultAction, { action: "pause" }>,
  now: Date,
): PushOutcome {
  const { status: apnsStatus, reason } = result;
  if (action.action === "sent") return { row, state: "sent", apnsStatus, reason: null };
  if (action.action === "fail") {
    if (action.device === "unaffected") return { row, state: "failed", apnsStatus, reason };
    const invalidSince = result.status === 410 && result.timestamp ? result.timestamp : claimedAt(row);
    return { row, state: "failed", apnsStatus, reason, invalidSince };
  }
  const nextAttemptAt = nextAttempt(action, row, now, Math.random());
  if (!nextAttemptAt) return { row, state: "failed", apnsStatus, reason };
  return { row, state: "queued", nextAttemptAt, isAttempted: true, apnsStatus, reason };
}

function requeueUntried(row: ClaimedPush): PushOutcome {
  return { row, state: "queued", nextAttemptAt: claimedAt(row), isAttempted: false, apnsStatus: null, reason: null };
}

function requeueAfterPause(row: ClaimedPush): PushOutcome {
  return { row, state: "queued", nextAttemptAt: null, isAttempted: false, apnsStatus: null, reason: PAUSED };
}

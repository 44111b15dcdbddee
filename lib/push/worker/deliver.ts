import type { Context } from "../../context";
import { cancellationReason, toNotification } from "../notifications";
import { type ApnsResult, CIRCUIT_BREAKER_PAUSE_SECONDS, classifyResult, nextAttempt } from "./apns-result";
import { type ClaimedDelivery, claimAgeMs, claimedAt, databaseTime } from "./claim";
import { type Outcome, PAUSED } from "./outcomes";
import type { PauseState } from "./pause-state";

type Deps = Pick<Context, "log" | "now"> & {
  push: NonNullable<Context["push"]>;
  channels: PauseState;
  isStopping: () => boolean;
};

/** A row that waited longer for its turn goes back: its device may have changed, and its lease has to last. */
const MAX_CLAIM_AGE_MS = 5_000;

/** Sends a row, unless something speaks against it by now. Never throws. */
export async function deliver(deps: Deps, row: ClaimedDelivery): Promise<Outcome> {
  const { channels, now } = deps;
  const objection = cancellationReason(row, databaseTime(row, now()));
  if (objection) return { row, state: "cancelled", apnsStatus: null, reason: objection };
  if (await channels.isPaused(row)) return requeueAfterPause(row);
  if (claimAgeMs(row, now()) > MAX_CLAIM_AGE_MS || deps.isStopping()) return requeueUntried(row);
  return outcomeOf(deps, row, await send(deps, row));
}

async function send({ push, log }: Deps, row: ClaimedDelivery): Promise<ApnsResult> {
  try {
    return await push.send(toNotification(row));
  } catch (error) {
    log.debug({ err: error, id: row.id }, "APNs gave no answer");
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    return { status: null, reason: isTimeout ? "timeout" : "unreachable" };
  }
}

async function outcomeOf(deps: Deps, row: ClaimedDelivery, told: ApnsResult): Promise<Outcome> {
  const { channels, now } = deps;
  const { status: apnsStatus, reason } = told;
  const verdict = classifyResult(told);
  const pause = async (seconds: number) => {
    await channels.pause(row, seconds, `${apnsStatus} ${reason}`);
    return requeueAfterPause(row);
  };

  const isDoubtful = verdict.step === "fail" && verdict.device === "doubtful";
  const isTooMuch = apnsStatus !== null && channels.noteAnswer(row, isDoubtful);
  if (isTooMuch || (isDoubtful && (await channels.isPaused(row)))) return pause(CIRCUIT_BREAKER_PAUSE_SECONDS);
  switch (verdict.step) {
    case "pause":
      return pause(verdict.seconds);
    case "sent":
      return { row, state: "sent", apnsStatus, reason: null };
    case "fail": {
      const diedAt = told.status === 410 && told.timestamp ? told.timestamp : claimedAt(row);
      return { row, state: "failed", apnsStatus, reason, ...(verdict.device === "kept" ? {} : { diedAt }) };
    }
    case "retry": {
      const nextAttemptAt = nextAttempt(verdict, row, databaseTime(row, now()), Math.random());
      if (!nextAttemptAt) return { row, state: "failed", apnsStatus, reason };
      return { row, state: "queued", nextAttemptAt, isTried: true, apnsStatus, reason };
    }
  }
}

/** A row that was not tried has used none of its attempts. */
function requeueUntried(row: ClaimedDelivery): Outcome {
  return { row, state: "queued", nextAttemptAt: claimedAt(row), isTried: false, apnsStatus: null, reason: null };
}

function requeueAfterPause(row: ClaimedDelivery): Outcome {
  return { row, state: "queued", nextAttemptAt: null, isTried: false, apnsStatus: null, reason: PAUSED };
}

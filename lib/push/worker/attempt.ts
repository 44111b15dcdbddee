import type { Context } from "../../context";
import { objectionTo, toNotification } from "../notifications";
import type { Channels } from "./channels";
import { type Claimed, claimedAt, databaseTime, heldMs } from "./claim";
import { type Outcome, PAUSED } from "./settle";
import { judge, nextAttempt, PAUSE_BREAKER_SECONDS, type Told } from "./verdict";

type Deps = Pick<Context, "log" | "now"> & {
  push: NonNullable<Context["push"]>;
  channels: Channels;
  isStopping: () => boolean;
};

/** A row that waited longer for its turn goes back: its device may have changed, and its lease has to last. */
const FRESH_MS = 5_000;

/** Sends a row, unless something speaks against it by now. Never throws. */
export async function attempt(deps: Deps, row: Claimed): Promise<Outcome> {
  const { channels, now } = deps;
  const objection = objectionTo(row, databaseTime(row, now()));
  if (objection) return { row, state: "cancelled", apnsStatus: null, reason: objection };
  if (await channels.isPaused(row)) return waitForPause(row);
  if (heldMs(row, now()) > FRESH_MS || deps.isStopping()) return giveBack(row);
  return conclude(deps, row, await ask(deps, row));
}

async function ask({ push, log }: Deps, row: Claimed): Promise<Told> {
  try {
    return await push.send(toNotification(row));
  } catch (error) {
    log.debug({ err: error, id: row.id }, "APNs gave no answer");
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    return { status: null, reason: isTimeout ? "timeout" : "unreachable" };
  }
}

async function conclude(deps: Deps, row: Claimed, told: Told): Promise<Outcome> {
  const { channels, now } = deps;
  const { status: apnsStatus, reason } = told;
  const verdict = judge(told);
  const pause = async (seconds: number) => {
    await channels.pause(row, seconds, `${apnsStatus} ${reason}`);
    return waitForPause(row);
  };

  const isDoubtful = verdict.step === "fail" && verdict.device === "doubtful";
  const isTooMuch = apnsStatus !== null && channels.noteAnswer(row, isDoubtful);
  if (isTooMuch || (isDoubtful && (await channels.isPaused(row)))) return pause(PAUSE_BREAKER_SECONDS);
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
function giveBack(row: Claimed): Outcome {
  return { row, state: "queued", nextAttemptAt: claimedAt(row), isTried: false, apnsStatus: null, reason: null };
}

function waitForPause(row: Claimed): Outcome {
  return { row, state: "queued", nextAttemptAt: null, isTried: false, apnsStatus: null, reason: PAUSED };
}

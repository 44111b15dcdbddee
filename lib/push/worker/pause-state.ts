import type { Context } from "../../context";
import type { PushEnvironment } from "../../db/generated/client";
import { createCircuitBreaker } from "./circuit-breaker";
import { type ClaimedDelivery, claimedAt, databaseTime } from "./claim";

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now">;
export type PauseState = {
  /** Whether a row's environment is paused, as far as is known here. */
  isPaused: (row: ClaimedDelivery) => Promise<boolean>;
  /** Closes a row's environment, to every worker. Resolves once that is written down. */
  pause: (row: ClaimedDelivery, seconds: number, reason: string) => Promise<void>;
  /** Whether too many verified devices are said to be unknown, this one included. */
  noteAnswer: (row: ClaimedDelivery, isDoubtful: boolean) => boolean;
};

/** A pause that began here. `writtenAt`: when others began to hear of it, by the database's clock; null: not yet. */
type Pause = { writing: Promise<void>; writtenAt: Date | null };

/** APNs's two environments, as far as they take anything at the moment. */
export function createPauseState(deps: Deps): PauseState {
  const pauses = new Map<PushEnvironment, Pause>();
  const breakers = { production: createCircuitBreaker(), sandbox: createCircuitBreaker() };
  /** Rows that were taken after it was written bring the database's word along. */
  const pauseOf = (row: ClaimedDelivery): Pause | null => {
    const pause = pauses.get(row.environment);
    return pause && (!pause.writtenAt || claimedAt(row) <= pause.writtenAt) ? pause : null;
  };
  const begin = async (pause: Pause, row: ClaimedDelivery, seconds: number, reason: string) => {
    const { environment } = row;
    deps.log.error({ environment, seconds, reason }, "nothing is sent to this environment of APNs for now");
    try {
      await savePause(deps, environment, seconds, reason);
      pause.writtenAt = databaseTime(row, deps.now());
    } catch (error) {
      pauses.delete(environment);
      deps.log.error({ err: error, environment }, "the pause cannot be written down");
    }
  };
  return {
    isPaused: async (row) => {
      const pause = pauseOf(row);
      await pause?.writing;
      return pause !== null || row.isPaused;
    },
    pause: async (row, seconds, reason) => {
      const known = pauseOf(row);
      if (known) return known.writing;
      const pause: Pause = { writing: Promise.resolve(), writtenAt: null };
      pauses.set(row.environment, pause);
      pause.writing = begin(pause, row, seconds, reason);
      await pause.writing;
    },
    // Anybody can register a token that never was: such answers say nothing of our key and host.
    noteAnswer: ({ environment, status }, isDoubtful) =>
      status === "active" && breakers[environment].isTooMuch(isDoubtful),
  };
}

/** A longer pause that is there already stays. */
async function savePause(
  { db, dbNow }: Deps,
  environment: PushEnvironment,
  seconds: number,
  reason: string,
): Promise<void> {
  await db.$executeRaw`
    INSERT INTO "PushPause" AS pause ("environment", "until", "reason")
    VALUES (${environment}::"PushEnvironment", ${dbNow()} + interval '1 second' * ${seconds}::int, ${reason})
    ON CONFLICT ("environment") DO UPDATE SET "until" = EXCLUDED."until", "reason" = EXCLUDED."reason"
    WHERE pause."until" < EXCLUDED."until"`;
}

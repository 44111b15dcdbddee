import type { Context } from "../../context";
import type { PushEnvironment } from "../../platform/db/generated/client";
import { seconds as interval } from "../../platform/db/sql";
import { type ClaimedPush, claimedAt, databaseTime } from "./claim-deliveries";

const WINDOW = 50;
const MAX_REJECTED = WINDOW / 5;

/**
 * Keeps a wrong signing key or host from invalidating every device: it opens when APNs rejected more than 20% of the
 * last 50 device tokens. It then starts again from zero, so that a few devices that are really gone cannot keep an
 * environment paused.
 */
export function createCircuitBreaker() {
  let recent: boolean[] = [];
  let rejected = 0;
  return {
    /** Records a result. Returns whether it opens the circuit. */
    record: (isRejected: boolean) => {
      recent.push(isRejected);
      if (isRejected) rejected += 1;
      if (recent.length > WINDOW && recent.shift()) rejected -= 1;
      if (rejected <= MAX_REJECTED) return false;
      recent = [];
      rejected = 0;
      return true;
    },
  };
}

type Deps = Pick<Context, "db" | "dbNow" | "log" | "now">;

/** Which environments are paused, as far as this worker knows. */
export type PauseState = {
  /** A promise only while this worker stores a pause. */
  isPaused: (row: ClaimedPush) => boolean | Promise<boolean>;
  /** Pauses a delivery's environment for every worker. Resolves once the pause is stored. */
  pause: (row: ClaimedPush, seconds: number, reason: string) => Promise<void>;
  /** Records whether APNs rejected the device token. Returns whether that opens the circuit breaker. */
  recordResult: (row: ClaimedPush, isRejected: boolean) => boolean;
};

/** A pause that this worker began. `storedAt`: from then on, by the database's clock, claims include it. */
type LocalPause = { saving: Promise<void>; storedAt: Date | null };

/** Creates the state of one worker, with a circuit breaker for each environment. */
export function createPauseState(deps: Deps): PauseState {
  const pauses = new Map<PushEnvironment, LocalPause>();
  const breakers = { production: createCircuitBreaker(), sandbox: createCircuitBreaker(), web: createCircuitBreaker() };
  /** The pause that a delivery's claim was too early to include. */
  const findPause = (row: ClaimedPush): LocalPause | null => {
    const pause = pauses.get(row.environment);
    return pause && (!pause.storedAt || claimedAt(row) <= pause.storedAt) ? pause : null;
  };
  const store = async (pause: LocalPause, row: ClaimedPush, seconds: number, reason: string) => {
    const { environment } = row;
    deps.log.error({ environment, seconds, reason }, "paused deliveries to a push environment");
    try {
      await savePause(deps, environment, seconds, reason);
      pause.storedAt = databaseTime(row, deps.now());
    } catch (error) {
      pauses.delete(environment);
      deps.log.error({ err: error, environment }, "could not store the pause");
    }
  };
  return {
    isPaused: (row) => findPause(row)?.saving.then(() => true) ?? row.isPaused,
    pause: async (row, seconds, reason) => {
      const current = findPause(row);
      if (current) return current.saving;
      const pause: LocalPause = { saving: Promise.resolve(), storedAt: null };
      pauses.set(row.environment, pause);
      pause.saving = store(pause, row, seconds, reason);
      await pause.saving;
    },
    // Anyone can register a made-up token: only devices that were verified say something about our key and host.
    recordResult: ({ environment, status }, isRejected) =>
      status === "active" && breakers[environment].record(isRejected),
  };
}

/** Stores a pause. A stored pause that lasts longer stays. */
async function savePause(
  { db, dbNow }: Deps,
  environment: PushEnvironment,
  seconds: number,
  reason: string,
): Promise<void> {
  await db.$executeRaw`
    INSERT INTO "PushPause" AS pause ("environment", "until", "reason")
    VALUES (${environment}::"PushEnvironment", ${dbNow()} + ${interval(seconds)}, ${reason})
    ON CONFLICT ("environment") DO UPDATE SET "until" = EXCLUDED."until", "reason" = EXCLUDED."reason"
    WHERE pause."until" < EXCLUDED."until"`;
}

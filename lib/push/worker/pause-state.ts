import type { Context } from "../../context";
import type { PushEnvironment } from "../../platform/db/generated/client";
import { seconds as interval } from "../../platform/db/sql";
import { type ClaimedPush, databaseTime } from "./claim-deliveries";

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

/** A pause that this worker began. `storedAt`: from then on, by the database's clock, claims include it. */
type LocalPause = { saving: Promise<void>; storedAt: Date | null };

export type PauseState = ReturnType<typeof createPauseState>;

/** Which environments are paused, as far as one worker knows, with a circuit breaker for each of them. */
export function createPauseState({ db, dbNow, log, now }: Deps) {
  const pauses = new Map<PushEnvironment, LocalPause>();
  const breakers = { production: createCircuitBreaker(), sandbox: createCircuitBreaker(), web: createCircuitBreaker() };
  /** The pause that a delivery's claim was too early to include. */
  const findPause = (row: ClaimedPush): LocalPause | null => {
    const pause = pauses.get(row.environment);
    return pause && (!pause.storedAt || row.claimedAt <= pause.storedAt) ? pause : null;
  };
  /** A stored pause that lasts longer stays. */
  const store = async (pause: LocalPause, row: ClaimedPush, seconds: number, reason: string) => {
    const { environment } = row;
    log.error({ environment, seconds, reason }, "paused deliveries to a push environment");
    try {
      await db.$executeRaw`
        INSERT INTO "PushPause" AS pause ("environment", "until", "reason")
        VALUES (${environment}::"PushEnvironment", ${dbNow()} + ${interval(seconds)}, ${reason})
        ON CONFLICT ("environment") DO UPDATE SET "until" = EXCLUDED."until", "reason" = EXCLUDED."reason"
        WHERE pause."until" < EXCLUDED."until"`;
      pause.storedAt = databaseTime(row, now());
    } catch (error) {
      pauses.delete(environment);
      log.error({ err: error, environment }, "could not store the pause");
    }
  };
  return {
    /** A promise only while this worker stores a pause. */
    isPaused: (row: ClaimedPush): boolean | Promise<boolean> => findPause(row)?.saving.then(() => true) ?? row.isPaused,
    /** Pauses a delivery's environment for every worker. Resolves once the pause is stored. */
    pause: async (row: ClaimedPush, seconds: number, reason: string): Promise<void> => {
      const current = findPause(row);
      if (current) return current.saving;
      const pause: LocalPause = { saving: Promise.resolve(), storedAt: null };
      pauses.set(row.environment, pause);
      pause.saving = store(pause, row, seconds, reason);
      await pause.saving;
    },
    /**
     * Records whether APNs rejected the device token. Returns whether that opens the circuit breaker. Anyone can register
     * a made-up token: only devices that were verified say something about our key and host.
     */
    recordResult: ({ environment, status }: ClaimedPush, isRejected: boolean): boolean =>
      status === "active" && breakers[environment].record(isRejected),
  };
}

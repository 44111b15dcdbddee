import type { Context } from "../../context";
import type { PushEnvironment } from "../../db/generated/client";
import { createBreaker } from "./breaker";
import { type Claimed, claimedAt } from "./claim";

type Deps = Pick<Context, "db" | "log" | "now">;
export type Channels = {
  /** Until when a row's environment is paused; null where it is open. */
  pausedUntil: (row: Claimed) => Date | null;
  /** Closes a row's environment, to every worker. Resolves to when it opens. */
  pause: (row: Claimed, seconds: number, reason: string) => Promise<Date>;
  /** Whether too many verified devices are said to be unknown, this one included. */
  noteAnswer: (row: Claimed, isDoubtful: boolean) => boolean;
};

/** APNs's two environments, as far as they take anything at the moment. */
export function openChannels(deps: Deps): Channels {
  /** Pauses that began here. Once one is written down, rows that are taken later bring the database's word along. */
  const pauses = new Map<PushEnvironment, { until: Date; writtenAt: Date | null }>();
  const breakers = { production: createBreaker(), sandbox: createBreaker() };
  const pausedUntil = (row: Claimed) => {
    const pause = pauses.get(row.environment);
    const isMeant = pause && (!pause.writtenAt || claimedAt(row) <= pause.writtenAt) && pause.until > deps.now();
    return isMeant ? pause.until : row.pausedUntil;
  };
  return {
    pausedUntil,
    pause: async (row, seconds, reason) => {
      const known = pausedUntil(row);
      if (known) return known;
      const { environment } = row;
      const until = new Date(deps.now().getTime() + seconds * 1000);
      pauses.set(environment, { until, writtenAt: null });
      deps.log.error({ environment, until, reason }, "nothing is sent to this environment of APNs for now");
      try {
        await writePause(deps, environment, until, reason);
        pauses.set(environment, { until, writtenAt: deps.now() });
      } catch (error) {
        deps.log.error({ err: error, environment }, "other workers do not hear of the pause");
      }
      return until;
    },
    // Anybody can register a token that never was: such answers say nothing of our key and host.
    noteAnswer: ({ environment, status }, isDoubtful) =>
      status === "active" && breakers[environment].isTooMuch(isDoubtful),
  };
}

/** A longer pause that is there already stays. */
async function writePause({ db }: Deps, environment: PushEnvironment, until: Date, reason: string): Promise<void> {
  await db.$executeRaw`
    INSERT INTO "PushPause" AS pause ("environment", "until", "reason")
    VALUES (${environment}::"PushEnvironment", ${until}, ${reason})
    ON CONFLICT ("environment") DO UPDATE SET "until" = EXCLUDED."until", "reason" = EXCLUDED."reason"
    WHERE pause."until" < EXCLUDED."until"`;
}

import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { countReports } from "../../../releases/rollouts/rollout-facts";
import { readClock } from "./schedule-rollout";

type Deps = Pick<Context, "db" | "dbNow">;

/**
 * Halts the rollouts of releases: nobody else is offered them, and who has them keeps them. Returns the ids of the schedules that this call halted.
 */
export function haltRollouts(
  { db, dbNow }: Deps,
  releaseIds: readonly string[],
  reason: string,
  operator: Operator,
): Promise<string[]> {
  return db.$transaction(async (tx) => {
    const now = await readClock(tx, dbNow);
    const where = { releaseIds: { hasSome: [...releaseIds] }, state: { not: "halted" } };
    const data = { state: "halted", haltedAt: now, haltReason: reason };
    const halted = await tx.rolloutSchedule.updateManyAndReturn({ where, data, select: { id: true } });
    for (const { id } of halted) {
      const event = { type: "rollout_halted", target: `rollout:${id}`, details: { reason } } as const;
      await recordOperatorEvent(tx, now, operator, event);
    }
    return halted.map(({ id }) => id);
  });
}

/**
 * Resumes the halted rollouts of releases at the step at which they were halted, which lasts its whole time again. What
 * clients have reported until now no longer counts. Returns the ids of the schedules that this call resumed.
 */
export function resumeRollouts(
  { db, dbNow }: Deps,
  releaseIds: readonly string[],
  operator: Operator,
): Promise<string[]> {
  return db.$transaction(async (tx) => {
    const now = await readClock(tx, dbNow);
    const where = { releaseIds: { hasSome: [...releaseIds] }, state: "halted" };
    const halted = await tx.rolloutSchedule.findMany({ where, orderBy: { id: "asc" } });
    for (const schedule of halted) {
      const { id, everySeconds, haltReason } = schedule;
      const { reports, failures } = await countReports(tx, schedule);
      const nextStepAt = new Date(now.getTime() + everySeconds * 1000);
      const counted = { reportsBefore: reports, failuresBefore: failures, countedFrom: now };
      const data = { state: "running", haltedAt: null, haltReason: null, observedAt: now, nextStepAt, ...counted };
      await tx.rolloutSchedule.update({ where: { id }, data });
      const event = { type: "rollout_resumed", target: `rollout:${id}`, details: { haltReason } } as const;
      await recordOperatorEvent(tx, now, operator, event);
    }
    return halted.map(({ id }) => id);
  });
}

/** Ends the schedules of releases, whose rollout is then the catalog's. Returns how many there were. */
export async function endRollouts({ db }: Pick<Deps, "db">, releaseIds: readonly string[]): Promise<number> {
  const { count } = await db.rolloutSchedule.deleteMany({ where: { releaseIds: { hasSome: [...releaseIds] } } });
  return count;
}

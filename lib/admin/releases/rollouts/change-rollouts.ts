import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { EventExtra } from "../../../audit/security-events";
import type { Context, Tx } from "../../../context";
import { readDatabaseTime } from "../../../db/clock";
import type { Prisma, RolloutSchedule } from "../../../db/generated/client";
import { runningFrom } from "../../../releases/rollouts/advance-rollouts";

type Deps = Pick<Context, "db" | "dbNow">;

/** How an operator changes a schedule, and what the audit trail keeps of it. */
type Change = {
  data: Prisma.RolloutScheduleUpdateInput;
  event: { type: "rollout_halted" | "rollout_resumed" | "rollout_completed"; details: EventExtra["details"] };
};

/**
 * Halts the rollouts of releases: no further clients are offered them, and those that have them keep them. A rollout that
 * has not started does not start. Returns the ids of the schedules that this call halted.
 */
export function haltRollouts(
  deps: Deps,
  releaseIds: readonly string[],
  reason: string,
  operator: Operator,
): Promise<string[]> {
  const isHalted = { state: "halted", startsAt: null };
  return changeRollouts(deps, releaseIds, operator, { NOT: isHalted }, (now, { steps, step, settledAt }) => {
    // The catalog of a settled rollout has its last percentage, which the schedule replaces from now on.
    const again = settledAt === null ? {} : { catalogRollout: steps[step], settledAt: null };
    const data = { ...isHalted, haltedAt: now, haltReason: reason, ...again };
    return { data, event: { type: "rollout_halted", details: { reason } } };
  });
}

/**
 * Resumes the halted rollouts of releases at the step at which they were halted, which lasts its whole time again. What
 * clients have reported until now no longer counts. Starts those that have not started. Returns the ids of the schedules
 * that this call resumed.
 */
export function resumeRollouts(deps: Deps, releaseIds: readonly string[], operator: Operator): Promise<string[]> {
  return changeRollouts(deps, releaseIds, operator, { state: "halted" }, async (now, schedule, tx) => ({
    data: await runningFrom(tx, schedule, now),
    event: { type: "rollout_resumed", details: { haltReason: schedule.haltReason } },
  }));
}

/** Completes the rollouts of releases at their last step. Returns the ids of the schedules that this call completed. */
export function completeRollouts(deps: Deps, releaseIds: readonly string[], operator: Operator): Promise<string[]> {
  const isOpen = { NOT: { state: "completed" } };
  return changeRollouts(deps, releaseIds, operator, isOpen, (_, { product, version, steps }) => {
    const step = steps.length - 1;
    const data = { state: "completed", step, startsAt: null, haltedAt: null, haltReason: null };
    return { data, event: { type: "rollout_completed", details: { product, version, rollout: steps[step] ?? 0 } } };
  });
}

/** Changes and records the schedules of releases in a state, in one transaction. Returns their ids. */
function changeRollouts(
  { db, dbNow }: Deps,
  releaseIds: readonly string[],
  operator: Operator,
  state: Prisma.RolloutScheduleWhereInput,
  change: (now: Date, schedule: RolloutSchedule, tx: Tx) => Change | Promise<Change>,
): Promise<string[]> {
  return db.$transaction(async (tx) => {
    const now = await readDatabaseTime({ db: tx, dbNow });
    const schedules = await lockRollouts(tx, releaseIds, state);
    for (const schedule of schedules) {
      const { id } = schedule;
      const { data, event } = await change(now, schedule, tx);
      await tx.rolloutSchedule.update({ where: { id }, data });
      await recordOperatorEvent(tx, now, operator, { ...event, target: `rollout:${id}` });
    }
    return schedules.map(({ id }) => id);
  });
}

/** The schedules of releases in a state, locked in the order of their ids until the transaction ends. */
async function lockRollouts(
  tx: Tx,
  releaseIds: readonly string[],
  state: Prisma.RolloutScheduleWhereInput,
): Promise<RolloutSchedule[]> {
  await tx.$queryRaw`
    SELECT "id" FROM "RolloutSchedule" WHERE "releaseIds" && ${[...releaseIds]}::text[] ORDER BY "id" FOR UPDATE`;
  const where = { releaseIds: { hasSome: [...releaseIds] }, ...state };
  return tx.rolloutSchedule.findMany({ where, orderBy: { id: "asc" } });
}

/** Ends the schedules of releases, whose rollout is then the catalog's. Returns how many there were. */
export async function endRollouts({ db }: Pick<Deps, "db">, releaseIds: readonly string[]): Promise<number> {
  const { count } = await db.rolloutSchedule.deleteMany({ where: { releaseIds: { hasSome: [...releaseIds] } } });
  return count;
}

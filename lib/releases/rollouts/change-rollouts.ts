import type { Context, Tx } from "../../context";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { EventExtra } from "../../platform/audit/security-events";
import { readDatabaseTime } from "../../platform/db/clock";
import type { Prisma, RolloutSchedule } from "../../platform/db/generated/client";
import type { Operator } from "../../principal";
import { haltedByYank, runningFrom, YANKED } from "./advance-rollouts";

type Deps = Pick<Context, "db" | "dbNow"> & {
  /** Runs in the transaction of the change, before it. */
  precondition?: (tx: Tx) => Promise<void>;
};

/** How an operator changes a schedule, and what the audit trail keeps of it. */
type Change = {
  data: Prisma.RolloutScheduleUpdateInput;
  event: { type: "rollout_halted" | "rollout_resumed" | "rollout_completed"; details: EventExtra["details"] };
};

type MakeChange = (now: Date, schedule: RolloutSchedule, tx: Tx) => Change | Promise<Change>;

/** Halts the rollouts of releases: clients that have them keep them. Returns the ids of those that this call halted. */
export function haltRollouts(deps: Deps, releaseIds: readonly string[], reason: string, operator: Operator) {
  const isHalted = { state: "halted", startsAt: null, isHaltedByYank: false };
  return changeRollouts(deps, releaseIds, operator, { NOT: isHalted }, (now, { steps, step, settledAt }) => {
    // The catalog of a settled rollout has its last percentage, which the schedule replaces from now on.
    const again = settledAt === null ? {} : { catalogRollout: steps[step], settledAt: null };
    const data = { ...isHalted, haltedAt: now, haltReason: reason, ...again };
    return { data, event: { type: "rollout_halted", details: { reason } } };
  });
}

/**
 * Resumes halted rollouts at their step, for its whole time, without the reports until now. Starts those that have not
 * started. Returns the ids of the schedules that this call resumed.
 */
export function resumeRollouts(deps: Deps, releaseIds: readonly string[], operator: Operator): Promise<string[]> {
  return changeRollouts(deps, releaseIds, operator, { state: "halted" }, resume);
}

async function resume(now: Date, schedule: RolloutSchedule, tx: Tx): Promise<Change> {
  const event = { type: "rollout_resumed", details: { haltReason: schedule.haltReason } } as const;
  return { data: await runningFrom(tx, schedule, now), event };
}

/** Completes the rollouts of releases at their last step. Returns the ids of the schedules that this call completed. */
export function completeRollouts(deps: Deps, releaseIds: readonly string[], operator: Operator): Promise<string[]> {
  const isOpen = { NOT: { state: "completed" } };
  return changeRollouts(deps, releaseIds, operator, isOpen, (_, { product, version, steps }) => {
    const step = steps.length - 1;
    const data = { state: "completed", step, startsAt: null, haltedAt: null, haltReason: null, isHaltedByYank: false };
    return { data, event: { type: "rollout_completed", details: { product, version, rollout: steps[step] ?? 0 } } };
  });
}

/** Changes and records the schedules of releases in a state, in one transaction. Returns their ids. */
function changeRollouts(
  { db, dbNow, precondition }: Deps,
  releaseIds: readonly string[],
  operator: Operator,
  state: Prisma.RolloutScheduleWhereInput,
  change: MakeChange,
): Promise<string[]> {
  return db.$transaction(async (tx) => {
    const now = await readDatabaseTime({ db: tx, dbNow });
    await precondition?.(tx);
    return changeSchedules(tx, now, operator, await lockRollouts(tx, releaseIds, state), change);
  });
}

async function changeSchedules(
  tx: Tx,
  now: Date,
  operator: Operator,
  schedules: readonly RolloutSchedule[],
  change: MakeChange,
): Promise<string[]> {
  for (const schedule of schedules) {
    const { id } = schedule;
    const { data, event } = await change(now, schedule, tx);
    await tx.rolloutSchedule.update({ where: { id }, data });
    await recordOperatorEvent(tx, now, operator, { ...event, target: `rollout:${id}` });
  }
  return schedules.map(({ id }) => id);
}

/** Halts the rollouts of yanked releases, on all platforms. Those that ran resume when one is offered again. */
export async function haltYankedRollouts(tx: Tx, now: Date, releaseIds: readonly string[], operator: Operator) {
  const isPending = { OR: [{ state: "running" }, { startsAt: { not: null } }] };
  const schedules = await lockRollouts(tx, releaseIds, isPending);
  const event = { type: "rollout_halted", details: { reason: YANKED } } as const;
  await changeSchedules(tx, now, operator, schedules, (_, schedule) => ({ data: haltedByYank(schedule, now), event }));
}

/** Resumes what `haltYankedRollouts` has halted: the releases are offered to the share that they had. */
export async function resumeYankedRollouts(tx: Tx, now: Date, releaseIds: readonly string[], operator: Operator) {
  const schedules = await lockRollouts(tx, releaseIds, { state: "halted", isHaltedByYank: true });
  await changeSchedules(tx, now, operator, schedules, resume);
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

/**
 * Takes releases out of their schedules, which go on for their other releases, of which `releases` has the platforms,
 * and end without any. Returns how many schedules there were.
 */
export async function leaveRollouts(
  tx: Tx,
  releaseIds: readonly string[],
  releases: readonly { id: string; platform: string }[],
): Promise<number> {
  const schedules = await lockRollouts(tx, releaseIds, {});
  for (const { id, releaseIds: all } of schedules) {
    const stay = releases.filter((release) => all.includes(release.id) && !releaseIds.includes(release.id));
    const platforms = [...new Set(stay.map(({ platform }) => platform))].sort();
    const data = { releaseIds: stay.map((release) => release.id), platforms };
    if (stay.length > 0) await tx.rolloutSchedule.update({ where: { id }, data });
    else await tx.rolloutSchedule.delete({ where: { id } });
  }
  return schedules.length;
}

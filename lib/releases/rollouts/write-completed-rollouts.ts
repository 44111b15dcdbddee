import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { COMMAND_LINE, recordOperatorEvent } from "../../platform/audit/operator-events";
import type { RolloutSchedule } from "../../platform/db/generated/client";
import { catalogFileOf } from "../catalog/catalog";
import { changeManifest, type EditableManifest, finishInterruptedChange } from "../publishing/manifest-file";
import { COMPLETED_SCHEDULE_RETENTION_MS } from "./scheduled-catalog";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "rollouts">;
type Completed = Pick<RolloutSchedule, "id" | "releaseIds" | "catalogRollout" | "steps" | "step" | "settledAt">;

/** Schedules whose last percentage this process could not write, so that it logs each of them once. */
const unwritable = new Set<string>();

/** Finishes what a crash has left of the last change of the catalog, and reads it then. @throws AppError; the database's error */
export async function finishLastChange(deps: Deps): Promise<void> {
  const file = catalogFileOf(deps.config);
  if (file !== null && (await finishInterruptedChange(deps, file))) await deps.catalog.refresh();
}

/**
 * Writes the last percentage of completed rollouts to the catalog of each instance, and first finishes what a crash has
 * left of its last change. Safe to repeat, and to kill at any time: until it is done the schedule applies.
 */
export async function writeCompletedRollouts(deps: Deps): Promise<void> {
  const { catalog, config, db, log, now, rollouts } = deps;
  const file = catalogFileOf(config);
  if (file === null) return;
  await finishLastChange(deps);
  const isRecent = { settledAt: { gt: new Date(now().getTime() - COMPLETED_SCHEDULE_RETENTION_MS) } };
  const completed = await db.rolloutSchedule.findMany({
    where: { state: "completed", OR: [{ settledAt: null }, isRecent] },
  });
  for (const schedule of completed) {
    try {
      if (rollouts.catalogReleases() === null) continue;
      if (rollouts.isApplied(schedule)) await writeLastPercentage(deps, file, schedule);
      else if (schedule.settledAt === null) await db.$transaction((tx) => markSettled(tx, now(), schedule));
      unwritable.delete(schedule.id);
    } catch (error) {
      if (unwritable.has(schedule.id)) continue;
      unwritable.add(schedule.id);
      log.warn({ err: error, rollout: schedule.id }, "a completed rollout could not be written to the catalog");
    }
  }
  if (completed.length > 0) await catalog.refresh();
}

const lastPercentage = ({ steps, step }: Completed) => steps[step] ?? 0;

/** Does not change releases to which an operator has given another percentage. */
async function writeLastPercentage(deps: Deps, file: string, schedule: Completed): Promise<void> {
  const { releaseIds, catalogRollout } = schedule;
  const rollout = lastPercentage(schedule);
  const change = ({ entries, releases }: EditableManifest) => {
    const replaced = releases.filter(({ id, rollout: own }) => releaseIds.includes(id) && own === catalogRollout);
    const isReplaced = (i: number) => replaced.some((release) => release === releases[i]);
    const next = entries.map((entry, i) => (isReplaced(i) ? { ...entry, rollout } : entry));
    return { entries: replaced.length > 0 && rollout !== catalogRollout ? next : entries, result: undefined };
  };
  await changeManifest(file, change, { deps, record: (tx, at) => markSettled(tx, at, schedule) });
}

/**
 * Of several instances with their own catalogs, the first records the change.
 * @throws AppError rollout_conflict if an operator has halted or ended the rollout since it was read
 */
async function markSettled(tx: Tx, at: Date, schedule: Completed): Promise<void> {
  const { id, releaseIds, catalogRollout } = schedule;
  const operator = { actor: "service", accountId: null, source: COMMAND_LINE } as const;
  const isSame = { id, releaseIds: { equals: releaseIds } }; // a release leaves if an operator sets its percentage
  const where = { ...isSame, state: "completed", settledAt: null };
  const { count } = await tx.rolloutSchedule.updateMany({ where, data: { settledAt: at } });
  const rollout = lastPercentage(schedule);
  if (count === 0) {
    // Until a rollout that was settled is halted. Then it replaces its last percentage.
    const isSettled = { OR: [{ settledAt: { not: null } }, { catalogRollout: rollout }] };
    if (await tx.rolloutSchedule.findFirst({ where: { ...isSame, ...isSettled } })) return;
    throw new AppError("rollout_conflict");
  }
  const details = { from: { rollout: catalogRollout }, to: { rollout }, rollout: id };
  for (const releaseId of releaseIds) {
    const event = { type: "release_changed", target: `release:${releaseId}`, details } as const;
    await recordOperatorEvent(tx, at, operator, event);
  }
}

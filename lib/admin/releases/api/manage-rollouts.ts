import type { Operator } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { isUuid } from "../../../db/ids";
import { AppError } from "../../../errors";
import { catalogFileOf } from "../../../releases/catalog/catalog";
import { formatVersion, type Release } from "../../../releases/schema";
import { selectReleases } from "../filter-releases";
import { PublishingError } from "../manifest/publishing-error";
import { completeRollouts, haltRollouts, resumeRollouts } from "../rollouts/change-rollouts";
import { type RolloutState, toRolloutState } from "../rollouts/list-rollouts";
import { assertSchedulable, initialRollout, scheduleRollout } from "../rollouts/schedule-rollout";
import { writeCompletedRollouts } from "../rollouts/write-completed-rollouts";
import type { ChangedRollout, NewRollout } from "../schemas/rollouts";
import { updateReleases } from "../update";
import { withAppErrors } from "./app-errors";
import { readCatalog } from "./manage-releases";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "rollouts">;

/**
 * Starts a rollout that advances by itself, at once or later. Writes what the schedule replaces to the catalog first, so
 * that a crash in between leaves a release that few or no clients are offered. A catalog at a URL must have it already.
 * @throws AppError rollout_invalid, release_not_found; catalog_not_editable; those of `withAppErrors`
 */
export async function startRollout(
  deps: Deps,
  operator: Operator,
  { filter, ...plan }: NewRollout,
): Promise<RolloutState> {
  const file = catalogFileOf(deps.config);
  const id = await withAppErrors(file, async () => {
    const selected = selectReleases(await readCatalog(deps), filter);
    const releases = selected.map((release) => ({ ...release, version: formatVersion(release.version) }));
    assertSchedulable(releases, plan, deps.now());
    const rollout = initialRollout(plan);
    if (file !== null) await updateReleases(file, { ids: releases.map((release) => release.id) }, { rollout });
    else assertHasRollout(selected, rollout);
    return scheduleRollout(deps, releases, plan, operator);
  });
  await refresh(deps);
  return readRollout(deps, id);
}

function assertHasRollout(releases: readonly Release[], rollout: number): void {
  const other = releases.find((release) => release.rollout !== rollout);
  if (!other) return;
  const message = `The catalog is at a URL: publish ${other.id} there with a rollout of ${rollout} first.`;
  throw new PublishingError(message, "catalog_not_editable");
}

/**
 * Halts, resumes, starts or completes a rollout. Does nothing if it already has the state.
 * @throws AppError rollout_not_found; rollout_conflict if it has completed, or the catalog overrides it
 */
export async function changeRollout(
  deps: Deps,
  operator: Operator,
  id: string,
  { state, reason = "An operator halted it." }: ChangedRollout,
): Promise<RolloutState> {
  const schedule = await findRollout(deps, id);
  assertApplied(deps, schedule);
  if (state === "running" && schedule.state === "completed") {
    throw new AppError("rollout_conflict", { detail: "The rollout has completed." });
  }
  const { releaseIds } = schedule;
  if (state === "halted") await haltRollouts(deps, releaseIds, reason, operator);
  else if (state === "running") await resumeRollouts(deps, releaseIds, operator);
  else await completeRollouts(deps, releaseIds, operator);
  await deps.rollouts.refresh();
  if (state === "completed") await writeCompletedRollouts(deps);
  return readRollout(deps, id);
}

type Schedule = Awaited<ReturnType<typeof findRollout>>;

async function findRollout({ db }: Pick<Deps, "db">, id: string) {
  const schedule = isUuid(id) ? await db.rolloutSchedule.findUnique({ where: { id } }) : null;
  if (!schedule) throw new AppError("rollout_not_found");
  return schedule;
}

/** The catalog of a settled rollout has its last percentage. */
function assertApplied({ rollouts }: Deps, { releaseIds, settledAt, steps, step, catalogRollout }: Schedule): void {
  const replaced = settledAt === null ? catalogRollout : (steps[step] ?? 0);
  if (rollouts.catalogReleases() === null || rollouts.isApplied({ releaseIds, catalogRollout: replaced })) return;
  const detail = "The catalog has another percentage, which overrides the schedule.";
  throw new AppError("rollout_conflict", { detail });
}

/** A rollout by its id. @throws AppError rollout_not_found */
export async function readRollout(deps: Pick<Deps, "db">, id: string): Promise<RolloutState> {
  return toRolloutState(await findRollout(deps, id));
}

async function refresh({ catalog, rollouts }: Deps): Promise<void> {
  await catalog.refresh();
  await rollouts.refresh();
}

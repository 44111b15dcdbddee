import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { isUuid } from "../../platform/db/ids";
import type { Operator } from "../../principal";
import { isAccessible, type ReleaseReader, withAccess } from "../access";
import { catalogFileOf } from "../catalog/catalog";
import { assertAdmitted } from "../policy/admissions";
import { selectReleases } from "../publishing/filter-releases";
import type { EditableManifest } from "../publishing/manifest-file";
import { planUpdate } from "../publishing/plan-changes";
import type { ChangedRollout, NewRollout } from "../publishing/schema";
import { assertSeen, type ReleasePrecondition, readCatalogState } from "../publishing/seen-state";
import { changeCatalog, readCatalog, refreshCatalog } from "../publishing/service-catalog";
import { formatVersion, type Release } from "../schema";
import { completeRollouts, haltRollouts, resumeRollouts } from "./change-rollouts";
import { listRollouts, type RolloutState, toRolloutState } from "./list-rollouts";
import { assertSchedulable, initialRollout, scheduleRollout } from "./schedule-rollout";
import { writeCompletedRollouts } from "./write-completed-rollouts";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now" | "rollouts">;
type ReadDeps = Pick<Deps, "config" | "db" | "rollouts">;

/**
 * Starts a rollout that advances by itself, and writes what it replaces to the catalog.
 * @throws AppError rollout_invalid, release_not_found, release_yanked, release_pending, policy_unmet; catalog_not_editable;
 *   precondition_failed; those of `changeCatalog`
 */
export async function startRollout(
  deps: Deps,
  operator: Operator,
  { filter, ...plan }: NewRollout,
  precondition?: ReleasePrecondition,
): Promise<RolloutState> {
  const known = await readCatalog(deps);
  const selected = selectReleases(known, withAccess(operator, filter)).filter(({ yanked }) => !yanked);
  if (selected.length === 0) throw new AppError("release_yanked", "The release is yanked: offer it again first.");
  const releases = selected.map((release) => ({ ...release, version: formatVersion(release.version) }));
  assertSchedulable(releases, plan, deps.now());
  const rollout = initialRollout(plan);
  const ids = releases.map((release) => release.id);
  let id = "";
  const begin = async (tx: Tx, all: readonly Release[]) => {
    await assertSeen(tx, all, ids, precondition);
    await assertAdmitted(tx, deps.now(), selected);
    id = await scheduleRollout(deps, tx, releases, plan, operator, all);
  };
  if (catalogFileOf(deps.config) === null) {
    assertHasRollout(selected, rollout);
    await deps.db.$transaction((tx) => begin(tx, known));
    await refreshCatalog(deps);
  } else {
    const change = (manifest: EditableManifest) => planUpdate(manifest, { ids }, { rollout });
    await changeCatalog(deps, change, (tx, _, __, before) => begin(tx, before.releases));
  }
  return readRollout(deps, operator, id);
}

function assertHasRollout(releases: readonly Release[], rollout: number): void {
  const other = releases.find((release) => release.rollout !== rollout);
  if (!other) return;
  const message = `The catalog is at a URL: publish ${other.id} there with a rollout of ${rollout} first.`;
  throw new AppError("catalog_not_editable", message);
}

/**
 * Halts, resumes, starts or completes a rollout. Does nothing if it already has the state.
 * @throws AppError rollout_not_found; rollout_conflict if it has completed, the catalog overrides it or its releases
 *   are yanked; precondition_failed
 */
export async function changeRollout(
  deps: Deps,
  operator: Operator,
  id: string,
  { state, reason = "An operator halted it." }: ChangedRollout,
  precondition?: ReleasePrecondition,
): Promise<RolloutState> {
  const schedule = await findRollout(deps, operator, id);
  assertApplied(deps, schedule);
  if (state === "running" && schedule.state === "completed") {
    throw new AppError("rollout_conflict", { detail: "The rollout has completed." });
  }
  if (state !== "halted" && deps.rollouts.isYanked(schedule)) {
    throw new AppError("rollout_conflict", { detail: "The release is yanked: offer it again first." });
  }
  const { releaseIds } = schedule;
  const releases = precondition ? await readCatalog(deps) : [];
  const seen = { ...deps, precondition: (tx: Tx) => assertSeen(tx, releases, releaseIds, precondition) };
  if (state === "halted") await haltRollouts(seen, releaseIds, reason, operator);
  else if (state === "running") await resumeRollouts(seen, releaseIds, operator);
  else await completeRollouts(seen, releaseIds, operator);
  await refreshCatalog(deps);
  if (state === "completed") await writeCompletedRollouts(deps);
  return readRollout(deps, operator, id);
}

type Schedule = Awaited<ReturnType<typeof findRollout>>;

async function findRollout(deps: ReadDeps, reader: ReleaseReader, id: string) {
  const schedule = isUuid(id) ? await deps.db.rolloutSchedule.findUnique({ where: { id } }) : null;
  const [accessible] = schedule ? await accessibleRollouts(deps, reader, [schedule]) : [];
  if (!accessible) throw new AppError("rollout_not_found");
  return accessible;
}

/** The schedules of which a caller may read and change all releases. */
async function accessibleRollouts<Schedule extends Pick<RolloutState, "product" | "releaseIds">>(
  deps: ReadDeps,
  { releaseAccess: access }: ReleaseReader,
  schedules: Schedule[],
): Promise<Schedule[]> {
  if (!access) return schedules;
  const channels = new Map((await readCatalog(deps)).map(({ id, channel }) => [id, channel]));
  return schedules.filter(({ product, releaseIds }) =>
    releaseIds.every((id) => isAccessible(access, { product, channel: channels.get(id) ?? "" })),
  );
}

/** The schedules of rollouts that a caller may read, newest first. @throws AppError those of `readCatalog` */
export async function listOwnRollouts(deps: ReadDeps, reader: ReleaseReader): Promise<RolloutState[]> {
  return accessibleRollouts(deps, reader, await listRollouts(deps));
}

/** The catalog of a settled rollout has its last percentage. */
function assertApplied({ rollouts }: Deps, { releaseIds, settledAt, steps, step, catalogRollout }: Schedule): void {
  const replaced = settledAt === null ? catalogRollout : (steps[step] ?? 0);
  if (rollouts.catalogReleases() === null || rollouts.isApplied({ releaseIds, catalogRollout: replaced })) return;
  const detail = "The catalog has another percentage, which overrides the schedule.";
  throw new AppError("rollout_conflict", { detail });
}

/** A rollout by its id. @throws AppError rollout_not_found; those of `readCatalog` */
export async function readRollout(deps: ReadDeps, reader: ReleaseReader, id: string): Promise<RolloutState> {
  return toRolloutState(await findRollout(deps, reader, id));
}

/** A rollout, and the state that a change may require. @throws AppError rollout_not_found; those of `readCatalog` */
export async function readSeenRollout(deps: ReadDeps, reader: ReleaseReader, id: string) {
  const result = await readRollout(deps, reader, id);
  return { result, state: await readCatalogState(deps.db, await readCatalog(deps), result.releaseIds) };
}

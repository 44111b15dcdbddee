import pLimit from "p-limit";
import type { Logger } from "pino";
import type { PrismaClient } from "../../platform/db/generated/client";
import type { Catalog } from "../catalog/catalog";
import { indexReleases, type Snapshot } from "../catalog/snapshot";
import type { Release } from "../schema";

/** A schedule as the selection needs it. `rollout`: the percentage of its current step, or 0 while it is halted. */
type AppliedSchedule = { releaseIds: readonly string[]; catalogRollout: number; rollout: number };

/** The schedules of rollouts that this process applies to its catalog. */
export type Rollouts = {
  /** Reads the schedules. @throws the database's error; the last known schedules then stay in use */
  refresh: () => Promise<void>;
  /** Whether the catalog of this process has one of the releases with the rollout that its schedule replaces. */
  isApplied: (schedule: Pick<AppliedSchedule, "releaseIds" | "catalogRollout">) => boolean;
  /** Whether the catalog of this process has all the releases of a schedule as yanked. */
  isYanked: (schedule: Pick<AppliedSchedule, "releaseIds">) => boolean;
  /** The releases as the catalog of this process has them, without schedules; null without a catalog. */
  catalogReleases: () => readonly Release[] | null;
};

type Deps = { catalog: Catalog; db: PrismaClient; log: Pick<Logger, "info">; now: () => Date };

/** How long a settled schedule still applies, for instances that have not written their own catalog yet. */
export const COMPLETED_SCHEDULE_RETENTION_MS = 60 * 60 * 1000;

/** A catalog whose releases have the rollouts of their schedules, once these were read. */
export function createScheduledCatalog({ catalog, db, log, now }: Deps): { catalog: Catalog; rollouts: Rollouts } {
  let schedules: AppliedSchedule[] = [];
  let applied: { base: Snapshot; snapshot: Snapshot } | null = null;
  const current = (): Snapshot | null => {
    const base = catalog.current();
    if (!base || schedules.length === 0) return base;
    if (applied?.base !== base) applied = { base, snapshot: applySchedules(base, schedules) };
    return applied.snapshot;
  };
  const inTurn = pLimit(1); // or an older answer could replace a newer one
  const reload = async () => {
    const read = await readSchedules(db, now());
    if (JSON.stringify(read) === JSON.stringify(schedules)) return;
    schedules = read;
    applied = null;
    log.info({ schedules: read.length }, "rollout schedules loaded");
  };
  const refresh = () => inTurn(reload);
  const isApplied: Rollouts["isApplied"] = ({ releaseIds, catalogRollout }) =>
    catalog.current()?.releases.some(({ id, rollout }) => releaseIds.includes(id) && rollout === catalogRollout) ??
    false;
  const catalogReleases = () => catalog.current()?.releases ?? null;
  const isYanked: Rollouts["isYanked"] = ({ releaseIds }) => {
    const own = catalogReleases()?.filter(({ id }) => releaseIds.includes(id)) ?? [];
    return own.length > 0 && own.every(({ yanked }) => yanked);
  };
  return { catalog: { ...catalog, current }, rollouts: { refresh, isApplied, isYanked, catalogReleases } };
}

async function readSchedules(db: PrismaClient, now: Date): Promise<AppliedSchedule[]> {
  const isSettledSince = { settledAt: { gt: new Date(now.getTime() - COMPLETED_SCHEDULE_RETENTION_MS) } };
  const rows = await db.rolloutSchedule.findMany({
    where: { OR: [{ settledAt: null }, isSettledSince] },
    select: { releaseIds: true, catalogRollout: true, steps: true, step: true, state: true },
    orderBy: { id: "asc" },
  });
  return rows.map(({ releaseIds, catalogRollout, steps, step, state }) => ({
    releaseIds,
    catalogRollout,
    rollout: state === "halted" ? 0 : (steps[step] ?? 0),
  }));
}

/** All releases are new objects, since caches of what depends on other releases are keyed by them. */
function applySchedules(base: Snapshot, schedules: readonly AppliedSchedule[]): Snapshot {
  const byRelease = new Map(schedules.flatMap((schedule) => schedule.releaseIds.map((id) => [id, schedule] as const)));
  const releases = base.releases.map((release) => {
    const schedule = byRelease.get(release.id);
    const rollout = schedule?.catalogRollout === release.rollout ? schedule.rollout : release.rollout;
    return { ...release, rollout };
  });
  return indexReleases(base.root, releases);
}

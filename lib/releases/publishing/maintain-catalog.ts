import type { Context } from "../../context";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { haltYankedRollouts, leaveRollouts } from "../rollouts/change-rollouts";
import { formatVersion, type Release } from "../schema";
import { listReleases } from "./list";
import { findRelease, readCatalog } from "./manage-releases";
import { type PromotedRelease, promoteReleases } from "./promote";
import { pruneReleases } from "./prune";
import { recordPublication } from "./publish-uploads";
import type { ChangeRecord } from "./recorded-write";
import { removeReleases } from "./remove";
import type {
  CatalogPrune,
  PromotedReleases,
  Promotion,
  PrunedCatalog,
  Removal,
  RemovalQuery,
  RemovalResult,
  Rollback,
  RolledBack,
} from "./schema";
import { assertSeen, type ReleasePrecondition, readCatalogState } from "./seen-state";
import { changedFields, refreshCatalog, requireCatalogFile, withAppErrors } from "./service-catalog";
import { rollBackReleases } from "./update";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "now" | "rollouts" | "webhooks">;

/** Offers builds of one channel on another, in one write. @throws AppError release_not_found; those of `withAppErrors` */
export async function promoteInCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...promotion }: Promotion,
  precondition?: ReleasePrecondition,
): Promise<PromotedReleases> {
  const manifestFile = requireCatalogFile(deps.config);
  const record: ChangeRecord<PromotedRelease[]> = {
    deps,
    record: async (tx, at, promoted, before) => {
      const sources = promoted.map(({ from }) => from);
      await assertSeen(tx, before.releases, sources, precondition);
      await recordPublication(deps, tx, at, operator, promoted);
    },
  };
  const promote = () => promoteReleases({ manifestFile, now: deps.now, record }, filter, promotion);
  const releases = await withAppErrors(manifestFile, promote);
  await refreshCatalog(deps);
  return { releases };
}

/**
 * Rolls back to older releases and withdraws the newer ones, in one write. Halts the schedules of those that it yanks, and
 * ends those of all others.
 * @throws AppError release_not_found, release_yanked, precondition_failed; those of `withAppErrors`
 */
export async function rollBackCatalog(
  deps: Deps,
  operator: Operator,
  { filter, withdrawal }: Rollback,
  precondition?: ReleasePrecondition,
): Promise<RolledBack> {
  const file = requireCatalogFile(deps.config);
  const isYank = withdrawal === "yank";
  const record: ChangeRecord<RolledBack> = {
    deps,
    record: async (tx, at, { releases, withdrawn }, before) => {
      const ids = releases.map(({ id }) => id);
      await assertSeen(tx, before.releases, ids, precondition);
      if (isYank) await haltYankedRollouts(tx, at, withdrawn, operator);
      await leaveRollouts(tx, isYank ? ids : [...ids, ...withdrawn], before.releases);
      const documents = listReleases(before.releases);
      const events = [
        ...ids.map((id) => ({ id, to: { rollback: true, rollout: 100 } })),
        ...withdrawn.map((id) => ({ id, to: isYank ? { yanked: true } : { rollout: 0 } })),
      ];
      for (const { id, to } of events) {
        const details = { ...changedFields(documents, id, to), rollback: ids };
        await recordOperatorEvent(tx, at, operator, { type: "release_changed", target: `release:${id}`, details });
      }
    },
  };
  const rolledBack = await withAppErrors(file, () => rollBackReleases(file, filter, withdrawal, record));
  await refreshCatalog(deps);
  return rolledBack;
}

/**
 * Removes a release and its files.
 * @throws AppError release_not_found, release_in_use, precondition_failed; those of `withAppErrors`
 */
export async function removeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  { force, dryRun }: RemovalQuery,
  precondition?: ReleasePrecondition,
): Promise<RemovalResult> {
  const file = requireCatalogFile(deps.config);
  await withAppErrors(file, () => findRelease(file, id));
  const removal = { filter: { ids: [id] }, isForced: force === "true", isDryRun: dryRun === "true" };
  return (await removeFromCatalog(deps, operator, removal, precondition)).result;
}

/** `state`: what the change may require after its dry run; null for the change itself. */
type Removed<T> = { result: T; state: string | null };

/**
 * Removes several releases and their files in one write: all of them or none.
 * @throws AppError release_not_found, release_in_use, precondition_failed; those of `withAppErrors`
 */
export async function removeFromCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...options }: Removal,
  precondition?: ReleasePrecondition,
): Promise<Removed<RemovalResult>> {
  const file = requireCatalogFile(deps.config);
  const record = recordRemoval(deps, operator, precondition, ({ version }) => ({ version: formatVersion(version) }));
  return remove(deps, options.isDryRun, () => removeReleases(file, filter, options, record));
}

/**
 * Removes old releases, and files that no release has.
 * @throws AppError precondition_failed; those of `withAppErrors`
 */
export async function pruneCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...options }: CatalogPrune,
  precondition?: ReleasePrecondition,
): Promise<Removed<PrunedCatalog>> {
  const file = requireCatalogFile(deps.config);
  const record = recordRemoval(deps, operator, precondition, () => ({ pruned: true }));
  return remove(deps, options.isDryRun, () => pruneReleases(file, filter, options, record));
}

/** The state is read before a dry run, so that a change in between is noticed. */
async function remove<T extends { releases: string[] }>(
  deps: Deps,
  isDryRun: boolean,
  run: () => Promise<T>,
): Promise<Removed<T>> {
  const seen = isDryRun ? await readCatalog(deps) : [];
  const result = await withAppErrors(requireCatalogFile(deps.config), run);
  if (isDryRun) return { result, state: await readCatalogState(deps.db, seen, result.releases) };
  await refreshCatalog(deps);
  return { result, state: null };
}

function recordRemoval(
  deps: Deps,
  operator: Operator,
  precondition: ReleasePrecondition | undefined,
  detailsOf: (release: Release) => Record<string, string | boolean>,
): ChangeRecord<{ releases: string[] }> {
  const record: ChangeRecord<{ releases: string[] }>["record"] = async (tx, at, { releases: ids }, { releases }) => {
    await assertSeen(tx, releases, ids, precondition);
    await leaveRollouts(tx, ids, releases);
    for (const release of releases.filter(({ id }) => ids.includes(id))) {
      const event = { type: "release_removed", target: `release:${release.id}`, details: detailsOf(release) } as const;
      await recordOperatorEvent(tx, at, operator, event);
    }
  };
  return { deps, record };
}

import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { listReleases } from "../list";
import { readManifest } from "../manifest/manifest-file";
import { type PromotedRelease, promoteReleases } from "../promote";
import { pruneReleases } from "../prune";
import { endRollouts } from "../rollouts/change-rollouts";
import { rollBackReleases } from "../rollouts/roll-back";
import type {
  CatalogPrune,
  PromotedReleases,
  Promotion,
  PrunedCatalog,
  Rollback,
  RolledBack,
} from "../schemas/maintenance";
import { requireCatalogFile, withAppErrors } from "./app-errors";
import { changedFields } from "./changed-fields";
import { recordPublication } from "./publication";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now" | "rollouts" | "webhooks">;

/** Offers builds of one channel on another, in one write. @throws AppError release_not_found; those of `withAppErrors` */
export async function promoteInCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...promotion }: Promotion,
): Promise<PromotedReleases> {
  const manifestFile = requireCatalogFile(deps.config);
  const aroundWrite = (promoted: PromotedRelease[], write: () => Promise<void>) =>
    recordPublication(deps, operator, promoted, write);
  const promote = () => promoteReleases({ manifestFile, now: deps.now, aroundWrite }, filter, promotion);
  const releases = await withAppErrors(manifestFile, promote);
  await deps.catalog.refresh();
  return { releases };
}

/**
 * Rolls back to older releases and withdraws the newer ones, in one write. Ends the schedules of all of them.
 * @throws AppError release_not_found, release_yanked; those of `withAppErrors`
 */
export async function rollBackCatalog(
  deps: Deps,
  operator: Operator,
  { filter, withdrawal }: Rollback,
): Promise<RolledBack> {
  const file = requireCatalogFile(deps.config);
  const { before, rolledBack } = await withAppErrors(file, async () => ({
    before: listReleases((await readManifest(file)).releases),
    rolledBack: await rollBackReleases(file, filter, withdrawal),
  }));
  const { releases, withdrawn } = rolledBack;
  const ids = releases.map(({ id }) => id);
  await endRollouts(deps, [...ids, ...withdrawn]);
  const events = [
    ...ids.map((id) => ({ id, to: { rollback: true, rollout: 100 } })),
    ...withdrawn.map((id) => ({ id, to: withdrawal === "yank" ? { yanked: true } : { rollout: 0 } })),
  ];
  await deps.db.$transaction(async (tx) => {
    for (const { id, to } of events) {
      const details = { ...changedFields(before, id, to), rollback: ids };
      const event = { type: "release_changed", target: `release:${id}`, details } as const;
      await recordOperatorEvent(tx, deps.now(), operator, event);
    }
  });
  await deps.catalog.refresh();
  await deps.rollouts.refresh();
  return rolledBack;
}

/** Removes old releases, and files that no release has. @throws AppError of `withAppErrors` */
export async function pruneCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...options }: CatalogPrune,
): Promise<PrunedCatalog> {
  const manifestFile = requireCatalogFile(deps.config);
  const pruned = await withAppErrors(manifestFile, () => pruneReleases(manifestFile, filter, options));
  for (const id of options.isDryRun ? [] : pruned.releases) {
    const event = { type: "release_removed", target: `release:${id}`, details: { pruned: true } } as const;
    await deps.db.$transaction((tx) => recordOperatorEvent(tx, deps.now(), operator, event));
  }
  await deps.catalog.refresh();
  return pruned;
}

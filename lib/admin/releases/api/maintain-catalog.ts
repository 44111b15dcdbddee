import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { listReleases } from "../list";
import type { ChangeRecord } from "../manifest/recorded-write";
import { type PromotedRelease, promoteReleases } from "../promote";
import { pruneReleases } from "../prune";
import { haltYankedRollouts, leaveRollouts } from "../rollouts/change-rollouts";
import { rollBackReleases } from "../rollouts/roll-back";
import type {
  CatalogPrune,
  PromotedReleases,
  Promotion,
  PrunedCatalog,
  Rollback,
  RolledBack,
} from "../schemas/maintenance";
import { refreshCatalog, requireCatalogFile, withAppErrors } from "./app-errors";
import { changedFields } from "./changed-fields";
import { recordPublication } from "./publication";
import { assertSeen, type ReleasePrecondition } from "./seen-state";

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

/** Removes old releases, and files that no release has. @throws AppError of `withAppErrors` */
export async function pruneCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...options }: CatalogPrune,
): Promise<PrunedCatalog> {
  const manifestFile = requireCatalogFile(deps.config);
  const record: ChangeRecord<PrunedCatalog> = {
    deps,
    record: async (tx, at, { releases: ids }, { releases }) => {
      await leaveRollouts(tx, ids, releases);
      for (const id of ids) {
        const event = { type: "release_removed", target: `release:${id}`, details: { pruned: true } } as const;
        await recordOperatorEvent(tx, at, operator, event);
      }
    },
  };
  const pruned = await withAppErrors(manifestFile, () => pruneReleases(manifestFile, filter, options, record));
  await refreshCatalog(deps);
  return pruned;
}

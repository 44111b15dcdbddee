import { type Operator, recordOperatorEvent } from "../../audit/operator-events";
import type { Context } from "../../context";
import { promoteReleases } from "../releases/promote";
import { pruneReleases } from "../releases/prune";
import type { CatalogPrune, PromotedReleases, Promotion, PrunedCatalog } from "./maintenance-schema";
import { requireCatalogFile, withAppErrors } from "./publishing-errors";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now">;

/** Offers builds of one channel on another, in one write. @throws AppError release_not_found; those of `withAppErrors` */
export async function promoteInCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...promotion }: Promotion,
): Promise<PromotedReleases> {
  const manifestFile = requireCatalogFile(deps.config);
  const promote = () => promoteReleases({ manifestFile, now: deps.now }, filter, promotion);
  const releases = await withAppErrors(manifestFile, promote);
  for (const { id, from, outcome } of releases) {
    const event = { type: "release_published", target: `release:${id}`, details: { outcome, from } } as const;
    await deps.db.$transaction((tx) => recordOperatorEvent(tx, deps.now(), operator, event));
  }
  await deps.catalog.refresh();
  return { releases };
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

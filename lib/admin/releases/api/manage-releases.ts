import { stat } from "node:fs/promises";
import { type Operator, recordOperatorEvent } from "../../../audit/operator-events";
import type { Context } from "../../../context";
import { AppError } from "../../../errors";
import { readPage } from "../../../lists/pages";
import { catalogFileOf } from "../../../releases/catalog/catalog";
import type { Release } from "../../../releases/schema";
import { filterReleases } from "../filter-releases";
import { listReleases, type ReleaseDocument } from "../list";
import { readManifest } from "../manifest/manifest-file";
import { removeReleases } from "../remove";
import { endRollouts } from "../rollouts/change-rollouts";
import type { ChangedReleases } from "../schemas/maintenance";
import type {
  ChangedRelease,
  ChangeResult,
  Releases,
  ReleasesQuery,
  RemovalQuery,
  RemovalResult,
} from "../schemas/releases";
import { findNewerServedReleases, updateReleases } from "../update";
import { requireCatalogFile, withAppErrors } from "./app-errors";
import { changedFields } from "./changed-fields";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now" | "rollouts">;

/**
 * A page of the catalog's releases, by product, platform and architecture, newest first.
 * @throws AppError invalid_query; those of `readCatalog`
 */
export async function listCatalog(deps: Pick<Deps, "config" | "rollouts">, query: ReleasesQuery): Promise<Releases> {
  const { limit, cursor, ...filter } = query;
  const documents = listReleases(filterReleases(await readCatalog(deps), filter));
  const page = await readPage("releases", { limit, cursor }, ({ after, take }) => {
    const start = after === null ? 0 : documents.findIndex(({ id }) => id === after) + 1;
    return documents.slice(start, start + take);
  });
  return { releases: [...page.entries], nextCursor: page.nextCursor };
}

/**
 * The catalog's releases without their schedules: of the file as it is now, or of the URL as it was last read.
 * @throws AppError catalog_unavailable; those of `withAppErrors`
 */
export async function readCatalog({
  config,
  rollouts,
}: Pick<Deps, "config" | "rollouts">): Promise<readonly Release[]> {
  const file = catalogFileOf(config);
  if (file !== null) return withAppErrors(file, () => readIfChanged(file));
  const releases = rollouts.catalogReleases();
  if (!releases) throw new AppError("catalog_unavailable");
  return releases;
}

/** The manifest that was read last. Parsing thousands of releases takes longer than a page may. */
let last: { state: string; releases: readonly Release[] } | undefined;

/** Reads the manifest, unless it is the file that was read last: a change gives it another time. */
async function readIfChanged(file: string): Promise<readonly Release[]> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  const state = found && [file, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ");
  if (state !== null && last?.state === state) return last.releases;
  const { releases } = await readManifest(file);
  if (state !== null) last = { state, releases };
  return releases;
}

/** Changes a release. @throws AppError release_not_found, release_invalid; those of `withAppErrors` */
export async function changeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  change: ChangedRelease,
): Promise<ChangeResult> {
  const file = requireCatalogFile(deps.config);
  await withAppErrors(file, () => findRelease(file, id));
  return changeReleases(deps, operator, { filter: { ids: [id] }, change });
}

/**
 * Changes several releases in one write: all of them or none. A percentage ends the schedules of their rollouts.
 * @throws AppError release_not_found, release_invalid; those of `withAppErrors`
 */
export async function changeReleases(
  deps: Deps,
  operator: Operator,
  { filter, change }: ChangedReleases,
): Promise<ChangeResult> {
  const file = requireCatalogFile(deps.config);
  const changed = await withAppErrors(file, async () => {
    const before = listReleases((await readManifest(file)).releases);
    const result = await updateReleases(file, filter, change);
    const ids = result.map(({ id }) => id);
    const { releases } = await readManifest(file);
    return { before, result, ids, newerServed: findNewerServedReleases(releases, ids) };
  });
  if (change.rollout !== undefined) await endRollouts(deps, changed.ids);
  for (const { id, outcome } of changed.result) {
    if (outcome === "unchanged") continue;
    await record(deps, operator, id, "release_changed", changedFields(changed.before, id, change));
  }
  await deps.catalog.refresh();
  await deps.rollouts.refresh();
  return { releases: changed.result, newerServed: changed.newerServed };
}

/** Removes a release and its files. @throws AppError release_not_found, release_in_use; those of `withAppErrors` */
export async function removeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  { force, dryRun }: RemovalQuery,
): Promise<RemovalResult> {
  const file = requireCatalogFile(deps.config);
  const options = { isForced: force === "true", isDryRun: dryRun === "true" };
  const { removed, version } = await withAppErrors(file, async () => {
    const { version } = await findRelease(file, id);
    return { version, removed: await removeReleases(file, { ids: [id] }, options) };
  });
  if (!options.isDryRun) await record(deps, operator, id, "release_removed", { version });
  await deps.catalog.refresh();
  return removed;
}

/** Finds a release by its id: commands also take a version, which can mean several. */
async function findRelease(file: string, id: string): Promise<ReleaseDocument> {
  const { releases } = await readManifest(file);
  const [found] = listReleases(releases.filter((release) => release.id === id));
  if (!found) throw new AppError("release_not_found");
  return found;
}

type Details = NonNullable<Parameters<typeof recordOperatorEvent>[3]["details"]>;

function record(
  { db, now }: Deps,
  operator: Operator,
  id: string,
  type: "release_changed" | "release_removed",
  details: object,
): Promise<void> {
  const event = { type, target: `release:${id}`, details: details as Details };
  return db.$transaction((tx) => recordOperatorEvent(tx, now(), operator, event));
}

import { type Operator, recordOperatorEvent } from "../../audit/operator-events";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { readPage } from "../pages";
import { listReleases, type ReleaseDocument } from "../releases/list";
import { readManifest } from "../releases/manifest/manifest-file";
import { removeReleases } from "../releases/remove";
import { filterReleases } from "../releases/select";
import { findNewerServedReleases, updateReleases } from "../releases/update";
import { requireCatalogFile, withAppErrors } from "./publishing-errors";
import type { ChangedRelease, ChangeResult, Releases, ReleasesQuery, RemovalQuery, RemovalResult } from "./schema";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now">;

/**
 * A page of the catalog's releases, by product, platform and architecture, newest first.
 * @throws AppError invalid_query; those of `withAppErrors`
 */
export async function listCatalog({ config }: Pick<Deps, "config">, query: ReleasesQuery): Promise<Releases> {
  const { limit, cursor, ...filter } = query;
  const file = requireCatalogFile(config);
  const { releases } = await withAppErrors(file, () => readManifest(file));
  const documents = listReleases(filterReleases(releases, filter));
  const page = await readPage("releases", { limit, cursor }, ({ after, take }) => {
    const start = after === null ? 0 : documents.findIndex(({ id }) => id === after) + 1;
    return documents.slice(start, start + take);
  });
  return { releases: [...page.entries], nextCursor: page.nextCursor };
}

/** Changes a release. @throws AppError release_not_found, release_invalid; those of `withAppErrors` */
export async function changeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  change: ChangedRelease,
): Promise<ChangeResult> {
  const file = requireCatalogFile(deps.config);
  const changed = await withAppErrors(file, async () => {
    const before = await findRelease(file, id);
    const result = await updateReleases(file, { ids: [id] }, change as Parameters<typeof updateReleases>[2]);
    const { releases } = await readManifest(file);
    return { before, result, newerServed: findNewerServedReleases(releases, [id]) };
  });
  const names = Object.keys(change) as (keyof ChangedRelease & keyof ReleaseDocument)[];
  const from = Object.fromEntries(names.map((name) => [name, changed.before[name] ?? null]));
  await record(deps, operator, id, "release_changed", { from, to: change });
  await deps.catalog.refresh();
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

import { stat } from "node:fs/promises";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { readPage } from "../../platform/lists";
import type { Operator } from "../../principal";
import { catalogFileOf } from "../catalog/catalog";
import { haltYankedRollouts, leaveRollouts, resumeYankedRollouts } from "../rollouts/change-rollouts";
import type { Release } from "../schema";
import { filterReleases } from "./filter-releases";
import { listReleases, type ReleaseDocument } from "./list";
import { readManifest } from "./manifest-file";
import type { ChangeRecord } from "./recorded-write";
import type { ChangedReleases, ChangeResult, Releases, ReleasesQuery } from "./schema";
import { assertSeen, type ReleasePrecondition, readCatalogState } from "./seen-state";
import { changedFields, refreshCatalog, requireCatalogFile, withAppErrors } from "./service-catalog";
import { findNewerServedReleases, type UpdatedRelease, updateReleases } from "./update";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "rollouts">;

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

/** A release, and the state that a change may require. @throws AppError release_not_found; those of `readCatalog` */
export async function readRelease(deps: Pick<Deps, "config" | "db" | "rollouts">, id: string) {
  const releases = await readCatalog(deps);
  const [release] = listReleases(releases.filter((one) => one.id === id));
  if (!release) throw new AppError("release_not_found");
  return { release, state: await readCatalogState(deps.db, releases, [id]) };
}

/** Changes a release. @throws AppError release_not_found; those of `changeReleases` */
export async function changeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  changed: Omit<ChangedReleases, "filter">,
  precondition?: ReleasePrecondition,
): Promise<ChangeResult> {
  const file = requireCatalogFile(deps.config);
  await withAppErrors(file, () => findRelease(file, id));
  return changeReleases(deps, operator, { filter: { ids: [id] }, ...changed }, precondition);
}

/**
 * Changes several releases in one write: all of them or none. A percentage takes them out of their schedules. A yank halts
 * those, and they resume when the release is offered again.
 * @throws AppError release_not_found, release_invalid, precondition_failed; those of `withAppErrors`
 */
export async function changeReleases(
  deps: Deps,
  operator: Operator,
  { filter, change, reason }: ChangedReleases,
  precondition?: ReleasePrecondition,
): Promise<ChangeResult> {
  const file = requireCatalogFile(deps.config);
  const record: ChangeRecord<UpdatedRelease[]> = {
    deps,
    record: async (tx, at, result, { releases }) => {
      const ids = result.map(({ id }) => id);
      await assertSeen(tx, releases, ids, precondition);
      if (change.yanked === true) await haltYankedRollouts(tx, at, ids, operator);
      if (change.yanked === false) await resumeYankedRollouts(tx, at, ids, operator);
      if (change.rollout !== undefined) await leaveRollouts(tx, ids, releases);
      const before = listReleases(releases);
      for (const { id, outcome } of result) {
        if (outcome === "unchanged") continue;
        const details = { ...changedFields(before, id, change), ...(reason === undefined ? {} : { reason }) };
        const event = { type: "release_changed", target: `release:${id}`, details: details as Details } as const;
        await recordOperatorEvent(tx, at, operator, event);
      }
    },
  };
  const changed = await withAppErrors(file, async () => {
    const releases = await updateReleases(file, filter, change, record);
    const ids = releases.map(({ id }) => id);
    return { releases, newerServed: findNewerServedReleases((await readManifest(file)).releases, ids) };
  });
  await refreshCatalog(deps);
  return changed;
}

/** Finds a release by its id: commands also take a version, which can mean several. */
export async function findRelease(file: string, id: string): Promise<ReleaseDocument> {
  const { releases } = await readManifest(file);
  const [found] = listReleases(releases.filter((release) => release.id === id));
  if (!found) throw new AppError("release_not_found");
  return found;
}

type Details = NonNullable<Parameters<typeof recordOperatorEvent>[3]["details"]>;

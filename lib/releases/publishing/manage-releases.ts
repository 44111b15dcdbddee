import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { isAccessible, type ReleaseReader, withAccess } from "../access";
import { admitPromotions, assertAdmitted, removeAdmissions } from "../policy/admissions";
import { haltYankedRollouts, leaveRollouts, resumeYankedRollouts } from "../rollouts/change-rollouts";
import { formatVersion, type Release } from "../schema";
import { describeChange } from "./describe-change";
import { filterReleases } from "./filter-releases";
import { listReleases, type ReleaseDocument } from "./list";
import { type EditableManifest, limitGrowth } from "./manifest-file";
import { findNewerServedReleases, planPromotion, planRollback, planUpdate } from "./plan-changes";
import { recordPublication } from "./publish-uploads";
import type { ChangeRecord } from "./recorded-write";
import { pruneReleases, removeReleases } from "./remove";
import type {
  CatalogPrune,
  ChangedReleases,
  ChangeResult,
  PromotedReleases,
  Promotion,
  PrunedCatalog,
  Releases,
  ReleasesQuery,
  Removal,
  RemovalQuery,
  RemovalResult,
  Rollback,
  RolledBack,
} from "./schema";
import { assertSeen, type ReleasePrecondition, readCatalogState } from "./seen-state";
import {
  changeCatalog,
  findRelease,
  pageOf,
  readCatalog,
  refreshCatalog,
  servedFacts,
  withCatalogFile,
} from "./service-catalog";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "rollouts">;

/**
 * A page of the catalog's releases, by product, platform and architecture, newest first.
 * @throws AppError invalid_query; those of `readCatalog`
 */
export async function listCatalog(
  deps: Pick<Context, "catalog" | "config" | "policies" | "rollouts">,
  reader: ReleaseReader,
  { limit, cursor, ...filter }: ReleasesQuery,
): Promise<Releases> {
  const found = filterReleases(await readCatalog(deps), withAccess(reader, filter));
  const documents = listReleases(found, servedFacts(deps));
  const page = await pageOf("releases", { limit, cursor }, documents);
  return { releases: [...page.entries], nextCursor: page.nextCursor };
}

/** A release, and the state that a change may require. @throws AppError release_not_found; those of `readCatalog` */
export async function readRelease(
  deps: Pick<Context, "catalog" | "config" | "db" | "policies" | "rollouts">,
  reader: ReleaseReader,
  id: string,
) {
  const releases = await readCatalog(deps);
  const own = releases.filter((one) => one.id === id);
  const [release] = listReleases(own, servedFacts(deps));
  if (!release || !isAccessible(reader.releaseAccess, release)) throw new AppError("release_not_found");
  return { result: release, state: await readCatalogState(deps.db, releases, [id]) };
}

/** Changes a release. @throws AppError release_not_found; those of `changeReleases` */
export async function changeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  changed: Omit<ChangedReleases, "filter">,
  precondition?: ReleasePrecondition,
): Promise<ChangeResult> {
  await findRelease(deps.config, operator, id);
  return changeReleases(deps, operator, { filter: { ids: [id] }, ...changed }, precondition);
}

/**
 * Changes several releases in one write: all of them or none. A percentage takes them out of their schedules. A yank
 * halts those, and they resume when the release is offered again.
 * @throws AppError release_not_found, release_invalid, precondition_failed; those of `changeCatalog`
 */
export async function changeReleases(
  deps: Deps,
  operator: Operator,
  { filter, change, reason }: ChangedReleases,
  precondition?: ReleasePrecondition,
): Promise<ChangeResult> {
  let known: readonly Release[] = [];
  const selection = withAccess(operator, filter);
  const plan = limitGrowth(operator, (manifest) => planUpdate(manifest, selection, change));
  const releases = await changeCatalog(deps, plan, async (tx, at, result, before) => {
    known = before.releases;
    const ids = result.map(({ id }) => id);
    await assertSeen(tx, before.releases, ids, precondition);
    if (change.yanked === true) await haltYankedRollouts(tx, at, ids, operator);
    if (change.yanked === false) await resumeYankedRollouts(tx, at, ids, operator);
    if (change.rollout !== undefined) await leaveRollouts(tx, ids, before.releases);
    const documents = listReleases(before.releases);
    for (const { id, outcome } of result) {
      if (outcome === "unchanged") continue;
      const details = { ...changedFields(documents, id, change), ...(reason === undefined ? {} : { reason }) };
      const event = { type: "release_changed", target: `release:${id}`, details: details as Details } as const;
      await recordOperatorEvent(tx, at, operator, event);
    }
  });
  const ids = releases.map(({ id }) => id);
  const after = await readCatalog(deps);
  return {
    releases,
    newerServed: findNewerServedReleases(after, ids),
    notes: describeChange(known, after, operator.releaseAccess),
  };
}

type Details = NonNullable<Parameters<typeof recordOperatorEvent>[3]["details"]>;

/** The fields of a release that a change sets, before and after it, for the audit trail. null: the release had no such field. */
function changedFields(before: readonly ReleaseDocument[], id: string, to: object) {
  const release = before.find((one) => one.id === id);
  const valueBefore = (name: string) => release?.[name as keyof ReleaseDocument] ?? null;
  return { from: Object.fromEntries(Object.keys(to).map((name) => [name, valueBefore(name)])), to };
}

/**
 * Offers builds of one channel on another, in one write.
 * @throws AppError release_not_found, release_pending, policy_unmet; those of `changeCatalog`
 */
export async function promoteInCatalog(
  deps: Deps & Pick<Context, "now" | "webhooks">,
  operator: Operator,
  { filter, ...promotion }: Promotion,
  precondition?: ReleasePrecondition,
): Promise<PromotedReleases> {
  const releasedAt = deps.now().toISOString();
  const selection = withAccess(operator, filter);
  const plan = limitGrowth(operator, (manifest) => planPromotion(manifest, selection, promotion, releasedAt));
  const releases = await changeCatalog(deps, plan, async (tx, at, promoted, before) => {
    const sources = promoted.map(({ from }) => from);
    await assertSeen(tx, before.releases, sources, precondition);
    const added = promoted.filter(({ outcome }) => outcome === "added");
    const sourcesOf = ({ from }: (typeof added)[number]) => before.releases.filter(({ id }) => id === from);
    const promotions = added.flatMap((one) => sourcesOf(one).map((source) => ({ source, channel: promotion.to })));
    const waiting = await admitPromotions(tx, at, operator, promotions);
    const pending = added.flatMap(({ id, from }) => (waiting.includes(from) ? [id] : []));
    const publishers = new Map(before.releases.map(({ id, publishedBy }) => [id, publishedBy]));
    const publisherOf = ({ from = "" }: { from?: string }) => publishers.get(from) ?? null;
    await recordPublication(deps, tx, at, operator, promoted, publisherOf, pending);
  });
  return { releases };
}

/**
 * Rolls back to older releases and withdraws the newer ones, in one write, with their schedules.
 * @throws AppError release_not_found, release_yanked, release_pending, precondition_failed; those of `changeCatalog`
 */
export async function rollBackCatalog(
  deps: Deps,
  operator: Operator,
  { filter, withdrawal }: Rollback,
  precondition?: ReleasePrecondition,
): Promise<RolledBack> {
  const isYank = withdrawal === "yank";
  let known: readonly Release[] = [];
  const plan = (manifest: EditableManifest) => planRollback(manifest, withAccess(operator, filter), withdrawal);
  const result = await changeCatalog(deps, plan, async (tx, at, { releases, withdrawn }, before) => {
    known = before.releases;
    const ids = releases.map(({ id }) => id);
    await assertSeen(tx, before.releases, ids, precondition);
    await assertAdmitted(
      tx,
      at,
      before.releases.filter(({ id }) => ids.includes(id)),
    );
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
  });
  return { ...result, notes: describeChange(known, await readCatalog(deps), operator.releaseAccess) };
}

/**
 * Removes a release and its files.
 * @throws AppError release_not_found, release_in_use, precondition_failed; those of `changeCatalog`
 */
export async function removeRelease(
  deps: Deps,
  operator: Operator,
  id: string,
  { force, dryRun }: RemovalQuery,
  precondition?: ReleasePrecondition,
): Promise<RemovalResult> {
  await findRelease(deps.config, operator, id);
  const removal = { filter: { ids: [id] }, isForced: force === "true", isDryRun: dryRun === "true" };
  return (await removeFromCatalog(deps, operator, removal, precondition)).result;
}

/** `state`: what the change may require after its dry run; null for the change itself. */
type Removed<T> = { result: T; state: string | null };

/**
 * Removes several releases and their files in one write: all of them or none.
 * @throws AppError release_not_found, release_in_use, precondition_failed; those of `changeCatalog`
 */
export async function removeFromCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...options }: Removal,
  precondition?: ReleasePrecondition,
): Promise<Removed<RemovalResult>> {
  const record = recordRemoval(operator, precondition, ({ version }) => ({ version: formatVersion(version) }));
  const selection = withAccess(operator, filter);
  return remove(deps, options.isDryRun, (file) => removeReleases(file, selection, options, { deps, record }));
}

/** Removes old releases, and files that no release has. @throws AppError precondition_failed; those of `changeCatalog` */
export async function pruneCatalog(
  deps: Deps,
  operator: Operator,
  { filter, ...options }: CatalogPrune,
  precondition?: ReleasePrecondition,
): Promise<Removed<PrunedCatalog>> {
  const record = recordRemoval(operator, precondition, () => ({ pruned: true }));
  const selection = withAccess(operator, filter);
  return remove(deps, options.isDryRun, (file) => pruneReleases(file, selection, options, { deps, record }));
}

/** The state is read before a dry run, so that a change in between is noticed. */
async function remove<T extends { releases: string[] }>(
  deps: Deps,
  isDryRun: boolean,
  run: (file: string) => Promise<T>,
): Promise<Removed<T>> {
  const { seen, result } = await withCatalogFile(deps.config, async (file) => {
    const seen = isDryRun ? await readCatalog(deps) : [];
    return { seen, result: await run(file) };
  });
  if (isDryRun) return { result, state: await readCatalogState(deps.db, seen, result.releases) };
  await refreshCatalog(deps);
  return { result, state: null };
}

function recordRemoval(
  operator: Operator,
  precondition: ReleasePrecondition | undefined,
  detailsOf: (release: Release) => Record<string, string | boolean>,
): ChangeRecord<{ releases: string[] }>["record"] {
  return async (tx, at, { releases: ids }, { releases }) => {
    await assertSeen(tx, releases, ids, precondition);
    await leaveRollouts(tx, ids, releases);
    const removed = releases.filter(({ id }) => ids.includes(id));
    await removeAdmissions(tx, removed);
    for (const release of removed) {
      const event = { type: "release_removed", target: `release:${release.id}`, details: detailsOf(release) } as const;
      await recordOperatorEvent(tx, at, operator, event);
    }
  };
}

import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../../context";
import { AppError } from "../../../errors";
import { indexReleases, type Snapshot } from "../../catalog/snapshot";
import { planRollback } from "../../rollouts/roll-back";
import { formatVersion, type Release } from "../../schema";
import { type AdoptionReport, readAdoption } from "../adoption";
import { requireCatalogFile, withAppErrors } from "../api/app-errors";
import { readCatalog } from "../api/manage-releases";
import { readRollout } from "../api/manage-rollouts";
import { readCatalogState } from "../api/seen-state";
import { type EditableManifest, readManifest } from "../manifest/manifest-file";
import { planPromotion } from "../promote";
import { planUpdate } from "../update";
import { groupClients } from "./client-groups";
import { compareOffers } from "./compare-offers";
import type { ProposedChange, ReleasePreview } from "./schema";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now" | "rollouts">;

const MAX_ROWS = 200;

type Previewed = { preview: ReleasePreview; state: string };

/**
 * Which clients would get another release if a change were made, and the state that the change may require. Changes nothing.
 * @throws AppError catalog_unavailable, rollout_not_found; those of the change itself
 */
export async function previewChange(deps: Deps, change: ProposedChange): Promise<Previewed> {
  await deps.catalog.refresh();
  const before = deps.catalog.current();
  if (!before) throw new AppError("catalog_unavailable");
  const { planned: releases, ids: touched } = await releasesAfter(deps, before, change);
  const after = indexReleases(before.root, releases);
  const changes = changesOf(before, releases);
  const ids = new Set(changes.map(({ id }) => id));
  const products = new Set(releases.filter(({ id }) => ids.has(id)).map(({ product }) => product));
  const counted = await countClients(deps, products);
  const rows = compareOffers({ before, after }, groupClients([before, after], products, counted.versions));
  const changedClients = rows.reduce((sum, { clients, changedShare }) => sum + clients * changedShare, 0);
  const preview = {
    products: [...products],
    countedOn: counted.day,
    clients: counted.versions.reduce((sum, { clients }) => sum + clients, 0),
    changedClients: Math.round(changedClients),
    rows: rows.sort((a, b) => b.clients * b.changedShare - a.clients * a.changedShare).slice(0, MAX_ROWS),
    changes,
  };
  return { preview, state: await readCatalogState(deps.db, await readCatalog(deps), touched) };
}

/** The releases after a change, and the ids of those that it is about. */
type After = { planned: Release[]; ids: readonly string[] };

/** The releases after a change, with the percentages that their schedules give them. */
async function releasesAfter(deps: Deps, { releases }: Snapshot, change: ProposedChange): Promise<After> {
  if (change.kind === "rollout") {
    const { releaseIds, steps, step } = await readRollout(deps, change.rolloutId);
    const percentages = { halted: 0, running: steps[step] ?? 0, completed: steps.at(-1) ?? 0 };
    const rollout = percentages[change.state];
    const planned = releases.map((release) => (releaseIds.includes(release.id) ? { ...release, rollout } : release));
    return { planned, ids: releaseIds };
  }
  const file = requireCatalogFile(deps.config);
  const { planned, ids, ended, yanked } = await withAppErrors(file, async () =>
    plan(await readManifest(file), change, deps.now()),
  );
  const served = new Map(releases.map((release) => [release.id, release]));
  const scheduled = await rolloutsAfterYank(deps, yanked, change.kind !== "change" || change.change.yanked !== false);
  const after = planned.map((release) => {
    const known = served.get(release.id);
    if (!known) return release;
    const rollout = ended.has(release.id) ? release.rollout : (scheduled.get(release.id) ?? known.rollout);
    return { ...release, rollout, artifacts: known.artifacts };
  });
  return { planned: after, ids };
}

/** The percentages of releases whose schedules a yank halts, or the end of it resumes. */
async function rolloutsAfterYank(deps: Deps, ids: readonly string[], isYank: boolean): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const state = isYank ? { state: "running" } : { state: "halted", isHaltedByYank: true };
  const schedules = await deps.db.rolloutSchedule.findMany({ where: { releaseIds: { hasSome: [...ids] }, ...state } });
  return new Map(
    schedules.flatMap(({ releaseIds, steps, step }) =>
      releaseIds.map((id) => [id, isYank ? 0 : (steps[step] ?? 0)] as const),
    ),
  );
}

type Planned = Pick<After, "ids"> & {
  planned: readonly Release[];
  /** The ids of releases that leave their schedules. */
  ended: ReadonlySet<string>;
  /** The ids of releases that the change yanks, or offers again. */
  yanked: readonly string[];
};

/** What a change makes of a manifest. */
function plan(manifest: EditableManifest, change: Exclude<ProposedChange, { kind: "rollout" }>, now: Date): Planned {
  if (change.kind === "promotion") {
    const { filter, kind: _, ...promotion } = change;
    const { releases, result } = planPromotion(manifest, filter, promotion, now.toISOString());
    return { planned: releases, ids: result.map(({ from }) => from), ended: new Set(), yanked: [] };
  }
  if (change.kind === "rollback") {
    const { releases, result } = planRollback(manifest, change.filter, change.withdrawal);
    const ids = result.releases.map(({ id }) => id);
    const isYank = change.withdrawal === "yank";
    const ended = new Set(isYank ? ids : [...ids, ...result.withdrawn]);
    return { planned: releases, ids, ended, yanked: isYank ? result.withdrawn : [] };
  }
  const { releases, result } = planUpdate(manifest, change.filter, change.change);
  const ids = result.map(({ id }) => id);
  const ended = new Set(change.change.rollout === undefined ? [] : ids);
  return { planned: releases, ids, ended, yanked: change.change.yanked === undefined ? [] : ids };
}

function changesOf(before: Snapshot, after: readonly Release[]): ReleasePreview["changes"] {
  const known = new Map(before.releases.map((release) => [release.id, release]));
  return after
    .filter((release) => !isDeepStrictEqual(known.get(release.id), release))
    .map(({ id, version }) => ({
      id,
      version: formatVersion(version),
      outcome: known.has(id) ? ("changed" as const) : ("added" as const),
    }));
}

/** Yesterday's clients of the products; the current day's if none were counted yesterday. */
async function countClients(deps: Deps, products: ReadonlySet<string>) {
  const all: AdoptionReport["versions"] = [];
  for (const product of products) all.push(...(await readAdoption(deps, { product, days: 2 })).versions);
  const days = [...new Set(all.filter(({ clients }) => clients > 0).map(({ day }) => day))].sort();
  const day = days[0] ?? null;
  return { day, versions: all.filter((one) => one.day === day) };
}

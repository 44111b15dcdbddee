import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../../context";
import { AppError } from "../../../errors";
import { indexReleases, type Snapshot } from "../../../releases/catalog/snapshot";
import { formatVersion, type Release } from "../../../releases/schema";
import { type AdoptionReport, readAdoption } from "../adoption";
import { requireCatalogFile, withAppErrors } from "../api/app-errors";
import { readRollout } from "../api/manage-rollouts";
import { type EditableManifest, readManifest } from "../manifest/manifest-file";
import { planPromotion } from "../promote";
import { planRollback } from "../rollouts/roll-back";
import { planUpdate } from "../update";
import { groupClients } from "./client-groups";
import { compareOffers } from "./compare-offers";
import type { ProposedChange, ReleasePreview } from "./schema";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now">;

const MAX_ROWS = 200;

/**
 * Which clients would get another release if a change were made. Changes nothing.
 * @throws AppError catalog_unavailable, rollout_not_found; those of the change itself
 */
export async function previewChange(deps: Deps, change: ProposedChange): Promise<ReleasePreview> {
  await deps.catalog.refresh();
  const before = deps.catalog.current();
  if (!before) throw new AppError("catalog_unavailable");
  const releases = await releasesAfter(deps, before, change);
  const after = indexReleases(before.root, releases);
  const changes = changesOf(before, releases);
  const ids = new Set(changes.map(({ id }) => id));
  const products = new Set(releases.filter(({ id }) => ids.has(id)).map(({ product }) => product));
  const counted = await countClients(deps, products);
  const rows = compareOffers({ before, after }, groupClients([before, after], products, counted.versions));
  const changedClients = rows.reduce((sum, { clients, changedShare }) => sum + clients * changedShare, 0);
  return {
    products: [...products],
    countedOn: counted.day,
    clients: counted.versions.reduce((sum, { clients }) => sum + clients, 0),
    changedClients: Math.round(changedClients),
    rows: rows.sort((a, b) => b.clients * b.changedShare - a.clients * a.changedShare).slice(0, MAX_ROWS),
    changes,
  };
}

/** The releases after a change, with the percentages that their schedules give them. */
async function releasesAfter(deps: Deps, { releases }: Snapshot, change: ProposedChange): Promise<Release[]> {
  if (change.kind === "rollout") {
    const { releaseIds, steps, step } = await readRollout(deps, change.rolloutId);
    const percentages = { halted: 0, running: steps[step] ?? 0, completed: steps.at(-1) ?? 0 };
    const rollout = percentages[change.state];
    return releases.map((release) => (releaseIds.includes(release.id) ? { ...release, rollout } : release));
  }
  const file = requireCatalogFile(deps.config);
  const { planned, ended } = await withAppErrors(file, async () => plan(await readManifest(file), change, deps.now()));
  const served = new Map(releases.map((release) => [release.id, release]));
  return planned.map((release) => {
    const known = served.get(release.id);
    if (!known) return release;
    const rollout = ended.has(release.id) ? release.rollout : known.rollout;
    return { ...release, rollout, artifacts: known.artifacts };
  });
}

/** The releases that a change makes of a manifest, and the ids of those whose schedules it ends. */
function plan(manifest: EditableManifest, change: Exclude<ProposedChange, { kind: "rollout" }>, now: Date) {
  if (change.kind === "promotion") {
    const { filter, kind: _, ...promotion } = change;
    return {
      planned: planPromotion(manifest, filter, promotion, now.toISOString()).releases,
      ended: new Set<string>(),
    };
  }
  if (change.kind === "rollback") {
    const { releases, result } = planRollback(manifest, change.filter, change.withdrawal);
    return { planned: releases, ended: new Set([...result.releases.map(({ id }) => id), ...result.withdrawn]) };
  }
  const { releases, result } = planUpdate(manifest, change.filter, change.change);
  const ended = change.change.rollout === undefined ? [] : result.map(({ id }) => id);
  return { planned: releases, ended: new Set(ended) };
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

import { isDeepStrictEqual } from "node:util";
import { compareBuild } from "semver";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { type ReleaseReader, withAccess } from "../access";
import { type AdoptionReport, readAdoption } from "../adoption/report";
import { indexReleases, type Snapshot } from "../catalog/snapshot";
import { parsePlatform } from "../platforms";
import { readRollout } from "../rollouts/manage-rollouts";
import { formatVersion, type Release } from "../schema";
import { type ClientGroup, compareOffers } from "./compare-offers";
import { describeChange } from "./describe-change";
import { type EditableManifest, readManifest } from "./manifest-file";
import { planPromotion, planRollback, planUpdate } from "./plan-changes";
import type { PreviewRow, ProposedChange, ReleasePreview } from "./schema";
import { readCatalogState } from "./seen-state";
import { readCatalog, withCatalogFile } from "./service-catalog";

type Deps = Pick<Context, "catalog" | "config" | "db" | "now" | "rollouts">;

const MAX_ROWS = 200;

/**
 * Which clients would get another release after a change, and the state that it may require.
 * @throws AppError catalog_unavailable, rollout_not_found; those of the change itself
 */
export async function previewChange(
  deps: Deps,
  reader: ReleaseReader,
  change: ProposedChange,
): Promise<{ preview: ReleasePreview; state: string }> {
  await deps.catalog.refresh();
  const before = deps.catalog.current();
  if (!before) throw new AppError("catalog_unavailable");
  const { planned, ids } = await releasesAfter(deps, reader, before, change);
  const after = indexReleases(before.root, planned);
  const known = new Map(before.releases.map((release) => [release.id, release]));
  const changed = planned.filter((release) => !isDeepStrictEqual(known.get(release.id), release));
  const products = new Set(changed.map(({ product }) => product));
  const counted = await countClients(deps, reader, products);
  const rows = compareOffers({ before, after }, groupClients([before, after], products, counted.versions));
  const affected = ({ clients, changedShare }: PreviewRow) => clients * changedShare;
  const preview = {
    products: [...products],
    countedOn: counted.day,
    clients: counted.versions.reduce((sum, { clients }) => sum + clients, 0),
    changedClients: Math.round(rows.reduce((sum, row) => sum + affected(row), 0)),
    rows: rows.sort((a, b) => affected(b) - affected(a)).slice(0, MAX_ROWS),
    changes: changed.map(({ id, version }) => ({
      id,
      version: formatVersion(version),
      outcome: known.has(id) ? ("changed" as const) : ("added" as const),
    })),
    notes: describeChange(before.releases, planned, reader.releaseAccess),
  };
  return { preview, state: await readCatalogState(deps.db, await readCatalog(deps), ids) };
}

/** The releases after a change, with the percentages of their schedules, and the ids of those that it is about. */
async function releasesAfter(deps: Deps, reader: ReleaseReader, { releases }: Snapshot, change: ProposedChange) {
  if (change.kind === "rollout") {
    const { releaseIds, steps, step } = await readRollout(deps, reader, change.rolloutId);
    const percentages = { halted: 0, running: steps[step] ?? 0, completed: steps.at(-1) ?? 0 };
    const rollout = percentages[change.state];
    const planned = releases.map((release) => (releaseIds.includes(release.id) ? { ...release, rollout } : release));
    return { planned, ids: releaseIds };
  }
  const { planned, ids, ended, yanked } = await withCatalogFile(deps.config, async (file) =>
    plan(await readManifest(file), { ...change, filter: withAccess(reader, change.filter) }, deps.now()),
  );
  const served = new Map(releases.map((release) => [release.id, release]));
  const unscheduled = new Set(ended);
  const scheduled = await rolloutsAfterYank(deps, yanked, change.kind !== "change" || change.change.yanked !== false);
  const after = planned.map((release) => {
    const known = served.get(release.id);
    if (!known) return release;
    const rollout = unscheduled.has(release.id) ? release.rollout : (scheduled.get(release.id) ?? known.rollout);
    return { ...release, rollout, artifacts: known.artifacts, signedDocuments: known.signedDocuments };
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

type Planned = {
  planned: readonly Release[];
  ids: string[];
  /** The ids of releases that leave their schedules. */
  ended: string[];
  /** The ids of releases that the change yanks, or offers again. */
  yanked: string[];
};

function plan(manifest: EditableManifest, change: Exclude<ProposedChange, { kind: "rollout" }>, now: Date): Planned {
  if (change.kind === "promotion") {
    const { filter, kind: _, ...promotion } = change;
    const { releases, result } = planPromotion(manifest, filter, promotion, now.toISOString());
    return { planned: releases, ids: result.map(({ from }) => from), ended: [], yanked: [] };
  }
  if (change.kind === "rollback") {
    const { releases, result } = planRollback(manifest, change.filter, change.withdrawal);
    const ids = result.releases.map(({ id }) => id);
    const isYank = change.withdrawal === "yank";
    const ended = isYank ? ids : [...ids, ...result.withdrawn];
    return { planned: releases, ids, ended, yanked: isYank ? result.withdrawn : [] };
  }
  const { rollout, yanked } = change.change;
  const { releases, result } = planUpdate(manifest, change.filter, change.change);
  const ids = result.map(({ id }) => id);
  return { planned: releases, ids, ended: rollout === undefined ? [] : ids, yanked: yanked === undefined ? [] : ids };
}

/** Yesterday's clients of the products; the current day's if none were counted yesterday. */
async function countClients(deps: Deps, reader: ReleaseReader, products: ReadonlySet<string>) {
  const all: AdoptionReport["versions"] = [];
  for (const product of products) all.push(...(await readAdoption(deps, reader, { product, days: 2 })).versions);
  const days = [...new Set(all.filter(({ clients }) => clients > 0).map(({ day }) => day))].sort();
  const day = days[0] ?? null;
  return { day, versions: all.filter((one) => one.day === day) };
}

/** The versions of the catalog that are included although no client was counted with them. */
const MAX_VERSIONS = 5;

/** The clients that a change may touch: those counted, and those of the newest versions and new installations. */
function groupClients(
  snapshots: readonly Snapshot[],
  products: ReadonlySet<string>,
  counted: AdoptionReport["versions"],
): ClientGroup[] {
  const groups = new Map<string, ClientGroup>();
  const add = (group: ClientGroup) => {
    const key = [group.product, group.platform, group.architecture, group.channel, group.installed].join(" ");
    groups.set(key, { ...group, clients: group.clients + (groups.get(key)?.clients ?? 0) });
  };
  const releases = snapshots.flatMap((snapshot) => snapshot.releases).filter(({ product }) => products.has(product));
  for (const { platform: name, architecture, channel, version, clients, product } of counted) {
    const platform = parsePlatform(name);
    if (!platform || version === "other") continue;
    const target = { product, platform, channel };
    const installed = version === "unknown" ? null : version;
    add({ ...target, architecture: resolveArchitecture(releases, target, architecture), installed, clients });
  }
  const targets = new Map<string, Target>();
  for (const { product, platform, architecture, channel } of releases) {
    targets.set([product, platform, architecture, channel].join(" "), { product, platform, architecture, channel });
  }
  for (const target of targets.values()) {
    for (const installed of [null, ...newestVersions(releases, target)]) add({ ...target, installed, clients: 0 });
  }
  return [...groups.values()];
}

type Target = Omit<ClientGroup, "installed" | "clients">;

function newestVersions(releases: readonly Release[], { product, platform, architecture }: Target): string[] {
  const own = releases.filter(
    (one) => one.product === product && one.platform === platform && one.architecture === architecture,
  );
  const ordered = own.map(({ version }) => version).sort((a, b) => compareBuild(b, a));
  return [...new Set(ordered.map(formatVersion))].slice(0, MAX_VERSIONS);
}

/** Feeds with several architectures do not contain the client's architecture. The most common one is assumed. */
function resolveArchitecture(
  releases: readonly Release[],
  { product, platform }: Omit<Target, "architecture">,
  architecture: string,
): string {
  if (architecture !== "unknown") return architecture;
  const own = releases.filter((one) => one.product === product && one.platform === platform);
  const known = ["universal", "x64"].find((name) => own.some((one) => one.architecture === name));
  return known ?? own[0]?.architecture ?? architecture;
}

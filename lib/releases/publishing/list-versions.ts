import { compareBuild, parse } from "semver";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { PageQuery } from "../../platform/lists";
import { listRollouts, type RolloutState } from "../rollouts/list-rollouts";
import { listReleases, type ReleaseDocument } from "./list";
import { pageOf, readCatalog, servedFacts } from "./service-catalog";

/** A release with the percentage that clients are offered now: that of its schedule, if it has one. */
export type ServedRelease = ReleaseDocument & { served: number };

/** A version of a product on one channel: its releases for all platforms and architectures. */
export type CatalogVersion = {
  id: string;
  product: string;
  channel: string;
  version: string;
  /** RFC 3339, of the newest of its releases. */
  releasedAt: string;
  releases: ServedRelease[];
  /** The newest schedule of one of its releases. */
  schedule: RolloutState | null;
};

export const VersionsQuery = z.object({
  ...PageQuery.shape,
  product: z.string().max(64).optional(),
  channel: z.string().max(64).optional(),
});
export type VersionsQuery = z.infer<typeof VersionsQuery>;

type Deps = Pick<Context, "catalog" | "config" | "db" | "policies" | "rollouts">;

/** A page of the versions of a product, newest first. `product` is the first one of the catalog by default. */
export async function listVersions(deps: Deps, { limit, cursor, channel, ...query }: VersionsQuery) {
  const releases = await readServedReleases(deps);
  const products = [...new Set(releases.map((release) => release.product))].sort();
  const product = query.product ?? products.find((name) => name === "core") ?? products[0];
  const own = releases.filter((release) => release.product === product);
  const shown = own.filter((release) => channel === undefined || release.channel === channel);
  const versions = groupVersions(shown, await listRollouts(deps));
  const page = await pageOf("versions", { limit, cursor }, versions);
  const channels = [...new Set(own.map((release) => release.channel))].sort();
  return { product, products, channels, versions: page.entries, nextCursor: page.nextCursor };
}

/** One version of a product on a channel. @throws AppError not_found */
export async function readVersion(
  deps: Deps,
  { product, channel, version }: Pick<CatalogVersion, "product" | "channel" | "version">,
): Promise<CatalogVersion & { older: string[]; channels: string[] }> {
  const all = (await readServedReleases(deps)).filter((release) => release.product === product);
  const versions = groupVersions(all, await listRollouts(deps));
  const found = versions.find((one) => one.channel === channel && one.version === version);
  if (!found) throw new AppError("not_found");
  const below = versions.slice(versions.indexOf(found) + 1).filter((one) => one.channel === channel);
  const older = below.filter(({ releases }) => releases.some(({ yanked }) => !yanked));
  const channels = [...new Set(["stable", "beta", ...all.map((release) => release.channel)])];
  return { ...found, older: older.map((one) => one.version), channels };
}

async function readServedReleases(deps: Deps): Promise<ServedRelease[]> {
  const served = new Map(deps.catalog.current()?.releases.map(({ id, rollout }) => [id, rollout]));
  const releases = listReleases(await readCatalog(deps), servedFacts(deps));
  return releases.map((release) => ({ ...release, served: served.get(release.id) ?? release.rollout }));
}

function groupVersions(releases: readonly ServedRelease[], rollouts: readonly RolloutState[]): CatalogVersion[] {
  const groups = new Map<string, CatalogVersion>();
  for (const release of releases) {
    const { product, channel, version, releasedAt } = release;
    const id = `${product} ${channel} ${version}`;
    const group = groups.get(id) ?? { id, product, channel, version, releasedAt, releases: [], schedule: null };
    group.releases.push(release);
    if (releasedAt > group.releasedAt) group.releasedAt = releasedAt;
    group.schedule ??= rollouts.find(({ releaseIds }) => releaseIds.includes(release.id)) ?? null;
    groups.set(id, group);
  }
  const parsed = new Map([...groups.values()].map(({ version }) => [version, parse(version) ?? "0.0.0"]));
  const versionOf = ({ version }: CatalogVersion) => parsed.get(version) ?? "0.0.0";
  return [...groups.values()].sort((a, b) => compareBuild(versionOf(b), versionOf(a)) || a.id.localeCompare(b.id));
}

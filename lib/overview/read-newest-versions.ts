import { compareBuild } from "semver";
import type { Context } from "../context";
import { formatVersion, type Release } from "../releases/schema";

type Deps = Pick<Context, "catalog" | "db" | "now">;

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_PRODUCTS = 20;

/** How many of a product's update checks came from its newest version. null: there were none. */
export type NewestVersion = { product: string; version: string; share: number | null; shareWeekAgo: number | null };

/** The newest version of each product on the channel "stable", and its share today and a week ago. */
export async function readNewestVersions({ catalog, db, now }: Deps): Promise<NewestVersion[]> {
  const newest = newestByProduct(catalog.current()?.releases ?? []).slice(0, MAX_PRODUCTS);
  if (newest.length === 0) return [];
  const today = dayOf(now());
  const weekAgo = dayOf(new Date(now().getTime() - 7 * DAY_MS));
  const rows = await db.adoptionCount.groupBy({
    by: ["day", "product", "version"],
    where: { day: { in: [new Date(today), new Date(weekAgo)] } },
    _sum: { checks: true },
  });
  return newest.map(({ product, version }) => {
    const text = formatVersion(version);
    const shareOn = (day: string): number | null => {
      const own = rows.filter((row) => row.product === product && dayOf(row.day) === day);
      const all = own.reduce((sum, { _sum }) => sum + Number(_sum.checks), 0);
      return all > 0 ? Number(own.find((row) => row.version === text)?._sum.checks ?? 0) / all : null;
    };
    return { product, version: text, share: shareOn(today), shareWeekAgo: shareOn(weekAgo) };
  });
}

function newestByProduct(releases: readonly Release[]): Release[] {
  const byProduct = new Map<string, Release>();
  for (const release of releases) {
    if (release.channel !== "stable" || release.yanked) continue;
    const known = byProduct.get(release.product);
    if (!known || compareBuild(release.version, known.version) > 0) byProduct.set(release.product, release);
  }
  return [...byProduct.values()].sort((a, b) => (a.product < b.product ? -1 : 1));
}

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

import type { Context } from "../../../context";
import { createSketch, estimateCount, mergeSketch, unpackSketch } from "../../adoption/hyperloglog";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Distinct clients by day and version. The last one of `days` is the current UTC day. */
export type AdoptionCurve = {
  days: string[];
  /** The versions with the most update checks of the last two days first. */
  versions: { version: string; clients: number[] }[];
};

type Deps = Pick<Context, "db" | "now">;
type Scope = { product: string; channel?: string | undefined };

/**
 * How many clients ran the most used versions of a product, or one `version`. A client counts once a day, on whatever
 * platform or channel. Only the sketches of these versions are read: each takes a quarter of a millisecond.
 */
export async function readAdoptionCurve(
  deps: Deps,
  { product, channel, version, days, limit }: Scope & { version?: string; days: number; limit: number },
): Promise<AdoptionCurve> {
  const dates = lastDays(deps, days);
  const names = version === undefined ? await mostUsedVersions(deps, { product, channel }, limit) : [version];
  const from = new Date(dates[0] ?? "");
  const counts = await countByDay(deps, { product, channel, versions: names, from });
  const versions = names.map((name) => ({
    version: name,
    clients: dates.map((day) => counts.get(`${day} ${name}`) ?? 0),
  }));
  return { days: dates, versions: versions.filter(({ clients }) => clients.some((count) => count > 0)) };
}

/** Yesterday's clients of each version; the current day's of those that had none yesterday. */
export async function countClients(deps: Deps, scope: Scope & { versions: string[] }): Promise<Map<string, number>> {
  const [yesterday = "", today = ""] = lastDays(deps, 2);
  const counts = await countByDay(deps, { ...scope, from: new Date(yesterday) });
  return new Map(
    scope.versions.map((version) => [
      version,
      counts.get(`${yesterday} ${version}`) ?? counts.get(`${today} ${version}`) ?? 0,
    ]),
  );
}

/** The UTC dates up to the current one. */
function lastDays({ now }: Pick<Deps, "now">, days: number): string[] {
  const today = now().getTime();
  return Array.from({ length: days }, (_, i) => new Date(today - (days - 1 - i) * DAY_MS).toISOString().slice(0, 10));
}

async function mostUsedVersions(deps: Deps, { product, channel }: Scope, limit: number): Promise<string[]> {
  const [yesterday = ""] = lastDays(deps, 2);
  const groups = await deps.db.adoptionCount.groupBy({
    by: ["version"],
    where: { product, channel, day: { gte: new Date(yesterday) } },
    _sum: { checks: true },
    orderBy: { _sum: { checks: "desc" } },
    take: limit,
  });
  return groups.map(({ version }) => version);
}

/** Distinct clients by "DAY VERSION". */
async function countByDay(
  { db }: Deps,
  { product, channel, versions, from }: Scope & { versions: string[]; from: Date },
): Promise<Map<string, number>> {
  const rows = await db.adoptionCount.findMany({
    where: { product, channel, version: { in: versions }, day: { gte: from }, clients: { not: null } },
    select: { day: true, version: true, clients: true },
  });
  const sketches = new Map<string, Uint8Array>();
  for (const { day, version, clients } of rows) {
    const key = `${day.toISOString().slice(0, 10)} ${version}`;
    const sketch = clients ? await unpackSketch(clients).catch(createSketch) : createSketch();
    const known = sketches.get(key);
    if (known) mergeSketch(known, sketch);
    else sketches.set(key, sketch);
  }
  return new Map([...sketches].map(([key, sketch]) => [key, estimateCount(sketch)]));
}

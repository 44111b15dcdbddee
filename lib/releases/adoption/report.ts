import { z } from "zod";
import type { Context } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import type { ReleaseReader } from "../access";
import { createSketch, estimateCount, mergeSketch, unpackSketch } from "./hyperloglog";

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_DAYS = 92;

export const AdoptionQuery = z.object({
  product: z.string().max(64).optional().describe("One product. All of them by default."),
  days: z.coerce.number().int().min(1).max(MAX_DAYS).default(7).describe("The number of UTC days, including today."),
});
export type AdoptionQuery = z.infer<typeof AdoptionQuery>;

const count = z.int().min(0);
const Totals = {
  checks: count.describe("Update checks."),
  clients: count.describe("Distinct clients of the update checks, within 2 percent."),
  downloadsStarted: count,
  downloadsFinished: count.describe("Downloads whose last byte was sent. Redirects are never finished here."),
};

export const AdoptionReport = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  products: z
    .array(z.object({ day: z.iso.date(), product: z.string(), ...Totals }))
    .describe("By day and product. A client counts once a day, even if it runs several versions."),
  versions: z.array(
    z.object({
      day: z.iso.date(),
      product: z.string(),
      platform: z.string(),
      architecture: z.string(),
      channel: z.string(),
      version: z.string().describe("The installed version; `unknown` without one, `other` beyond a day's limits."),
      ...Totals,
      offers: count.describe("Update checks that offered this version to clients with an older one."),
      offeredClients: count.describe("Distinct clients of the offers, within 2 percent."),
    }),
  ),
});
export type AdoptionReport = z.infer<typeof AdoptionReport>;
type VersionAdoption = AdoptionReport["versions"][number];

type Deps = Pick<Context, "db" | "now">;

/** Reads who ran which version of what the caller may read, newest day first, the version with the most clients first. */
export async function readAdoption(
  { db, now }: Deps,
  { releaseAccess: access }: ReleaseReader,
  { product, days }: AdoptionQuery,
): Promise<AdoptionReport> {
  const accessible = access && {
    product: { in: [...access.products] },
    ...(access.channel !== null && { channel: access.channel }),
  };
  const dates = lastDays(now, days).reverse();
  const report: AdoptionReport = { from: dates.at(-1) ?? "", to: dates[0] ?? "", products: [], versions: [] };
  for (const date of dates) {
    const read = await readDay(db, date, { product, AND: accessible ?? {} });
    report.products.push(...read.products);
    report.versions.push(...read.versions.sort((a, b) => b.clients - a.clients || b.checks - a.checks));
  }
  return report;
}

async function readDay(db: Deps["db"], day: string, where: Prisma.AdoptionCountWhereInput) {
  const rows = await db.adoptionCount.findMany({
    where: { day: new Date(day), ...where },
    orderBy: { product: "asc" },
  });
  const versions: VersionAdoption[] = [];
  const products = new Map<string, AdoptionReport["products"][number] & { sketch: Uint8Array }>();
  for (const { checks, offers, downloadsStarted, downloadsFinished, clients, offeredClients, ...row } of rows) {
    const sketch = await unpack(clients);
    const counts = {
      checks: Number(checks),
      clients: estimateCount(sketch),
      downloadsStarted: Number(downloadsStarted),
      downloadsFinished: Number(downloadsFinished),
    };
    const offered = estimateCount(await unpack(offeredClients));
    versions.push({ ...row, day, ...counts, offers: Number(offers), offeredClients: offered });
    const total = products.get(row.product);
    if (!total) products.set(row.product, { day, product: row.product, ...counts, sketch });
    else {
      mergeSketch(total.sketch, sketch);
      total.checks += counts.checks;
      total.downloadsStarted += counts.downloadsStarted;
      total.downloadsFinished += counts.downloadsFinished;
    }
  }
  return {
    versions,
    products: [...products.values()].map(({ sketch, ...total }) => ({ ...total, clients: estimateCount(sketch) })),
  };
}

/** A damaged sketch counts as empty. */
async function unpack(packed: Uint8Array | null): Promise<Uint8Array> {
  return packed ? unpackSketch(packed).catch(createSketch) : createSketch();
}

/** Distinct clients by day and version. The last one of `days` is the current UTC day. */
export type AdoptionCurve = {
  days: string[];
  /** The versions with the most update checks of the last two days first. */
  versions: { version: string; clients: number[] }[];
};

type Scope = { product: string; channel?: string | undefined };

/** How many clients ran the most used versions, or one `version`. A client counts once a day, on whatever platform. */
export async function readAdoptionCurve(
  deps: Deps,
  { product, channel, version, days, limit }: Scope & { version?: string; days: number; limit: number },
): Promise<AdoptionCurve> {
  const dates = lastDays(deps.now, days);
  const names = version === undefined ? await mostUsedVersions(deps, { product, channel }, limit) : [version];
  const from = new Date(dates[0] ?? "");
  const counts = await countByDay(deps, { product, channel, versions: names, from });
  const clientsOf = (version: string) => dates.map((day) => counts.get(`${day} ${version}`) ?? 0);
  const versions = names.map((version) => ({ version, clients: clientsOf(version) }));
  return { days: dates, versions: versions.filter(({ clients }) => clients.some((count) => count > 0)) };
}

/** Yesterday's clients of each version; the current day's of those that had none yesterday. */
export async function countClients(deps: Deps, scope: Scope & { versions: string[] }): Promise<Map<string, number>> {
  const [yesterday = "", today = ""] = lastDays(deps.now, 2);
  const counts = await countByDay(deps, { ...scope, from: new Date(yesterday) });
  return new Map(
    scope.versions.map((version) => [
      version,
      counts.get(`${yesterday} ${version}`) ?? counts.get(`${today} ${version}`) ?? 0,
    ]),
  );
}

function lastDays(now: Deps["now"], days: number): string[] {
  const today = now().getTime();
  return Array.from({ length: days }, (_, i) => new Date(today - (days - 1 - i) * DAY_MS).toISOString().slice(0, 10));
}

async function mostUsedVersions(deps: Deps, { product, channel }: Scope, limit: number): Promise<string[]> {
  const [yesterday = ""] = lastDays(deps.now, 2);
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
    const sketch = await unpack(clients);
    const known = sketches.get(key);
    if (known) mergeSketch(known, sketch);
    else sketches.set(key, sketch);
  }
  return new Map([...sketches].map(([key, sketch]) => [key, estimateCount(sketch)]));
}

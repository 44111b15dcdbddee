import type { RolloutSchedule } from "../../platform/db/generated/client";
import type { Tx } from "../../platform/db/transaction";
import { estimateCount, unpackSketch } from "../adoption/hyperloglog";
import type { RolloutFacts } from "./decide-next-step";

type Rollout = Pick<
  RolloutSchedule,
  "product" | "version" | "platforms" | "reportsBefore" | "failuresBefore" | "countedFrom"
>;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Reads what clients have reported about a version since its schedule was created or resumed. */
export async function readRolloutFacts(tx: Tx, rollout: Rollout, now: Date): Promise<RolloutFacts> {
  const { reports, failures, frequentCode } = await countReports(tx, rollout);
  return {
    reports: Math.max(0, reports - Number(rollout.reportsBefore)),
    failures: Math.max(0, failures - Number(rollout.failuresBefore)),
    frequentCode,
    ...(await countClients(tx, rollout, now)),
  };
}

/** All reports about a version so far. */
export async function countReports(
  tx: Tx,
  { product, version, platforms }: Pick<Rollout, "product" | "version" | "platforms">,
): Promise<Pick<RolloutFacts, "reports" | "failures" | "frequentCode">> {
  const groups = await tx.updateReportCount.groupBy({
    by: ["outcome", "code"],
    where: { product, version: { in: versionsOf(version) }, platform: { in: platforms } },
    _sum: { reports: true },
  });
  const counted = groups.map(({ outcome, code, _sum }) => ({ outcome, code, reports: Number(_sum.reports ?? 0) }));
  const failed = counted.filter(({ outcome }) => outcome !== "installed");
  const [frequent] = failed.filter(({ code }) => code !== "").sort((a, b) => b.reports - a.reports);
  return { reports: sum(counted), failures: sum(failed), frequentCode: frequent?.code ?? null };
}

async function countClients(tx: Tx, { product, version, platforms, countedFrom }: Rollout, now: Date) {
  const rows = await tx.adoptionCount.findMany({
    where: { product, version: { in: versionsOf(version) }, platform: { in: platforms }, day: { gte: countedFrom } },
    select: { day: true, clients: true, offeredClients: true },
  });
  const yesterday = Math.floor(now.getTime() / DAY_MS - 1) * DAY_MS;
  const offered = new Map<number, number>();
  const running = new Map<number, number>();
  for (const row of rows) {
    const day = row.day.getTime();
    offered.set(day, (offered.get(day) ?? 0) + (await estimate(row.offeredClients)));
    if (day >= yesterday) running.set(day, (running.get(day) ?? 0) + (await estimate(row.clients)));
  }
  return { offeredClients: Math.max(0, ...offered.values()), clients: Math.max(0, ...running.values()) };
}

async function estimate(packed: Uint8Array | null): Promise<number> {
  return packed ? estimateCount(await unpackSketch(packed)) : 0;
}

/** Clients may leave out build metadata. */
function versionsOf(version: string): string[] {
  return [version, version.split("+", 1)[0] ?? version];
}

function sum(counted: readonly { reports: number }[]): number {
  return counted.reduce((total, { reports }) => total + reports, 0);
}

import type { Prisma, PrismaClient, RolloutSchedule } from "../../platform/db/generated/client";
import type { Tx } from "../../platform/db/transaction";
import { estimateCount, unpackSketch } from "../adoption/hyperloglog";
import { decideNextStep, type RolloutFacts } from "./decide-next-step";
import type { Rollouts } from "./scheduled-catalog";

/** What happened to a rollout, for the audit trail and the operators. */
export type RolloutChange = {
  type: "rollout_advanced" | "rollout_completed" | "rollout_halted";
  schedule: Pick<RolloutSchedule, "id" | "product" | "version">;
  /** The percentage from now on. */
  rollout: number;
  reason: string | null;
};

type Deps = {
  db: PrismaClient;
  dbNow: () => Prisma.Sql;
  rollouts: Rollouts;
  /** Records a change, and queues the emails about it, in its transaction. */
  onChange: (tx: Tx, at: Date, change: RolloutChange) => Promise<void>;
};

/** Starts, advances and halts rollouts that are due: one process handles each of them. Returns the changes. */
export async function advanceRollouts(deps: Deps): Promise<RolloutChange[]> {
  const where = { OR: [{ state: "running" }, { startsAt: { not: null } }] };
  const running = await deps.db.rolloutSchedule.findMany({ where, select: { id: true } });
  const changes: RolloutChange[] = [];
  for (const { id } of running) {
    const change = await deps.db.$transaction((tx) => advanceRollout(deps, tx, id));
    if (change) changes.push(change);
  }
  await deps.rollouts.refresh();
  return changes;
}

async function advanceRollout(deps: Deps, tx: Tx, id: string): Promise<RolloutChange | null> {
  const [locked] = await tx.$queryRaw<{ now: Date }[]>`
    SELECT ${deps.dbNow()} AS "now" FROM "RolloutSchedule"
    WHERE "id" = ${id}::uuid AND ("state" = 'running' OR "startsAt" <= ${deps.dbNow()}) FOR UPDATE SKIP LOCKED`;
  if (!locked) return null;
  const { now } = locked;
  const schedule = await tx.rolloutSchedule.findUniqueOrThrow({ where: { id } });
  const { data, change } = await nextStep(deps, tx, schedule, now);
  await tx.rolloutSchedule.update({ where: { id }, data });
  if (change) await deps.onChange(tx, now, change);
  return change;
}

type Step = { data: Prisma.RolloutScheduleUpdateInput; change: RolloutChange | null };

async function nextStep({ rollouts }: Deps, tx: Tx, schedule: RolloutSchedule, now: Date): Promise<Step> {
  const { steps, step, startsAt, observedAt: lastObservedAt } = schedule;
  const changed = (type: RolloutChange["type"], rollout = 0, reason: string | null = null) => ({
    type,
    schedule,
    rollout,
    reason,
  });
  if (rollouts.isYanked(schedule)) {
    // The rollout may have been resumed then, because the releases are offered again.
    if (now.getTime() - lastObservedAt.getTime() <= MAX_CATALOG_AGE_MS) return { data: {}, change: null };
    return { data: haltedByYank(schedule, now), change: changed("rollout_halted", 0, YANKED) };
  }
  // At the time that it was scheduled for, or as soon as a process runs again.
  if (startsAt !== null) {
    return { data: await runningFrom(tx, schedule, now), change: changed("rollout_advanced", steps[step]) };
  }
  const facts = await readRolloutFacts(tx, schedule, now);
  const decision = decideNextStep(schedule, facts, now, rollouts.isApplied(schedule));
  const observedAt = now;
  if (decision.kind === "wait") return { data: { observedAt, nextStepAt: decision.nextStepAt }, change: null };
  if (decision.kind === "complete") {
    return { data: { observedAt, state: "completed" }, change: changed("rollout_completed", steps[step]) };
  }
  if (decision.kind === "advance") {
    const { kind: _, ...data } = decision;
    return { data: { observedAt, ...data }, change: changed("rollout_advanced", steps[decision.step]) };
  }
  const halted = { state: "halted", haltedAt: now, haltReason: decision.reason };
  return { data: { observedAt, ...halted }, change: changed("rollout_halted", 0, decision.reason) };
}

/** How long an instance may have the catalog from before a change. */
const MAX_CATALOG_AGE_MS = 10_000;

export const YANKED = "It was yanked.";

/** What a rollout has whose releases were yanked. One that had not started does not start when they are offered again. */
export function haltedByYank({ startsAt }: Pick<RolloutSchedule, "startsAt">, now: Date) {
  return { state: "halted", haltReason: YANKED, isHaltedByYank: startsAt === null, startsAt: null, haltedAt: now };
}

/** The fields of a rollout that runs from now on: its step lasts its whole time, and earlier reports do not count. */
export async function runningFrom(
  tx: Tx,
  schedule: Pick<RolloutSchedule, "product" | "version" | "platforms" | "everySeconds">,
  now: Date,
) {
  const { reports, failures } = await countReports(tx, schedule);
  return {
    state: "running",
    haltedAt: null,
    haltReason: null,
    isHaltedByYank: false,
    startsAt: null,
    observedAt: now,
    nextStepAt: new Date(now.getTime() + schedule.everySeconds * 1000),
    reportsBefore: reports,
    failuresBefore: failures,
    countedFrom: now,
  };
}

type Rollout = Pick<
  RolloutSchedule,
  "product" | "version" | "platforms" | "reportsBefore" | "failuresBefore" | "countedFrom"
>;

const DAY_MS = 24 * 60 * 60 * 1000;

/** What clients have reported about a version since its schedule was created or resumed. */
async function readRolloutFacts(tx: Tx, rollout: Rollout, now: Date): Promise<RolloutFacts> {
  const { reports, failures, frequentCode } = await countReports(tx, rollout);
  return {
    reports: Math.max(0, reports - Number(rollout.reportsBefore)),
    failures: Math.max(0, failures - Number(rollout.failuresBefore)),
    frequentCode,
    ...(await countClients(tx, rollout, now)),
  };
}

async function countReports(
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

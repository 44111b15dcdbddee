import type { Prisma, PrismaClient, RolloutSchedule } from "../../platform/db/generated/client";
import type { Tx } from "../../platform/db/transaction";
import { estimateCount, unpackSketch } from "../adoption/hyperloglog";
import { decideNextStep, type NextStep, type RolloutFacts } from "./decide-next-step";
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
  if (deps.rollouts.isYanked(schedule)) return haltYanked(deps, tx, schedule, now);
  if (schedule.startsAt !== null) return startRollout(deps, tx, schedule, now);
  const facts = await readRolloutFacts(tx, schedule, now);
  const decision = decideNextStep(schedule, facts, now, deps.rollouts.isApplied(schedule));
  await tx.rolloutSchedule.update({ where: { id }, data: { observedAt: now, ...fieldsOf(decision, now) } });
  const change = toChange(schedule, decision);
  if (change) await deps.onChange(tx, now, change);
  return change;
}

export const YANKED = "It was yanked.";

/** What a rollout has whose releases were yanked. One that had not started does not start when they are offered again. */
export function haltedByYank({ startsAt }: Pick<RolloutSchedule, "startsAt">, now: Date) {
  return { state: "halted", haltReason: YANKED, isHaltedByYank: startsAt === null, startsAt: null, haltedAt: now };
}

/** Halts a rollout whose releases were yanked in the catalog's file. */
async function haltYanked(deps: Deps, tx: Tx, schedule: RolloutSchedule, now: Date): Promise<RolloutChange> {
  await tx.rolloutSchedule.update({ where: { id: schedule.id }, data: haltedByYank(schedule, now) });
  const change = { type: "rollout_halted", schedule, rollout: 0, reason: YANKED } as const;
  await deps.onChange(tx, now, change);
  return change;
}

/** Starts a rollout at the time that it was scheduled for, or as soon as a process runs again. */
async function startRollout(deps: Deps, tx: Tx, schedule: RolloutSchedule, now: Date): Promise<RolloutChange> {
  const { id, steps, step } = schedule;
  await tx.rolloutSchedule.update({ where: { id }, data: await runningFrom(tx, schedule, now) });
  const change = { type: "rollout_advanced", schedule, rollout: steps[step] ?? 0, reason: null } as const;
  await deps.onChange(tx, now, change);
  return change;
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

function fieldsOf(decision: NextStep, now: Date): Prisma.RolloutScheduleUpdateInput {
  if (decision.kind === "wait") return { nextStepAt: decision.nextStepAt };
  if (decision.kind === "advance") return { step: decision.step, nextStepAt: decision.nextStepAt };
  if (decision.kind === "complete") return { state: "completed" };
  return { state: "halted", haltedAt: now, haltReason: decision.reason };
}

function toChange(schedule: RolloutSchedule, decision: NextStep): RolloutChange | null {
  const current = schedule.steps[schedule.step] ?? 0;
  if (decision.kind === "wait") return null;
  if (decision.kind === "complete") return { type: "rollout_completed", schedule, rollout: current, reason: null };
  if (decision.kind === "halt") return { type: "rollout_halted", schedule, rollout: 0, reason: decision.reason };
  return { type: "rollout_advanced", schedule, rollout: schedule.steps[decision.step] ?? current, reason: null };
}

type Rollout = Pick<
  RolloutSchedule,
  "product" | "version" | "platforms" | "reportsBefore" | "failuresBefore" | "countedFrom"
>;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Reads what clients have reported about a version since its schedule was created or resumed. */
async function readRolloutFacts(tx: Tx, rollout: Rollout, now: Date): Promise<RolloutFacts> {
  const { reports, failures, frequentCode } = await countReports(tx, rollout);
  return {
    reports: Math.max(0, reports - Number(rollout.reportsBefore)),
    failures: Math.max(0, failures - Number(rollout.failuresBefore)),
    frequentCode,
    ...(await countClients(tx, rollout, now)),
  };
}

/** All reports about a version so far. */
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

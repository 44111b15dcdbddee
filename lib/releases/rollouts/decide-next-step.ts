import type { RolloutSchedule } from "../../platform/db/generated/client";

/** The state of a schedule that decides about its next step. Times are of the database's clock. */
export type ScheduleState = Pick<
  RolloutSchedule,
  | "version"
  | "steps"
  | "step"
  | "everySeconds"
  | "nextStepAt"
  | "observedAt"
  | "maxFailureShare"
  | "minReports"
  | "minAdoptionShare"
  | "minOfferedClients"
>;

/** What clients have reported since the schedule was created or resumed. */
export type RolloutFacts = {
  /** Reports of installed, failed and rolled back updates. */
  reports: number;
  /** Failed and rolled back ones, and their most frequent code. */
  failures: number;
  frequentCode: string | null;
  /** Distinct clients of one day to which the version was offered: the most of any day. */
  offeredClients: number;
  /** Distinct clients of one day that run the version: the most of this day and the day before. */
  clients: number;
};

type NextStep =
  | { kind: "wait"; nextStepAt: Date }
  | { kind: "advance"; step: number; nextStepAt: Date }
  | { kind: "complete" }
  | { kind: "halt"; reason: string };

/** A longer gap between two checks does not count as observed time, because no process was running. */
const MAX_GAP_MS = 10 * 60 * 1000;

/**
 * Halts a rollout as soon as too many reports are of failures, and at the end of a step if the clients that were
 * offered the version do not come back with it; else advances it by one step. `isApplied`: the catalog has the rollout
 * that the schedule replaces; otherwise an operator has overridden it, and time does not count.
 */
export function decideNextStep(state: ScheduleState, facts: RolloutFacts, now: Date, isApplied: boolean): NextStep {
  const dueAt = dueTime(state, now, isApplied);
  if (!isApplied) return { kind: "wait", nextStepAt: dueAt };
  const failure = failureReason(state, facts);
  if (failure) return { kind: "halt", reason: failure };
  if (now < dueAt) return { kind: "wait", nextStepAt: dueAt };
  const lowAdoption = lowAdoptionReason(state, facts);
  if (lowAdoption) return { kind: "halt", reason: lowAdoption };
  if (state.step >= state.steps.length - 1) return { kind: "complete" };
  return { kind: "advance", step: state.step + 1, nextStepAt: laterBy(now, state.everySeconds) };
}

/** When the current step was observed for long enough, without time in which nothing observed it. */
function dueTime({ nextStepAt, observedAt, everySeconds }: ScheduleState, now: Date, isApplied: boolean): Date {
  const elapsedMs = now.getTime() - observedAt.getTime();
  const isObserved = isApplied && elapsedMs <= MAX_GAP_MS;
  const dueAt = new Date(nextStepAt.getTime() + (isObserved || elapsedMs < 0 ? 0 : elapsedMs));
  const latest = laterBy(now, everySeconds); // the clock was set back
  return dueAt > latest ? latest : dueAt;
}

function failureReason({ version, minReports, maxFailureShare }: ScheduleState, facts: RolloutFacts): string | null {
  const { reports, failures, frequentCode } = facts;
  if (reports === 0 || reports < minReports || failures / reports <= maxFailureShare) return null;
  const code = frequentCode ? `, most often ${frequentCode}` : "";
  const share = `${percent(failures / reports)} of ${reports} reports`;
  return `${share} say that ${version} failed or was rolled back${code}. The maximum is ${percent(maxFailureShare)}.`;
}

function lowAdoptionReason(state: ScheduleState, { offeredClients, clients }: RolloutFacts): string | null {
  const { version, minOfferedClients, minAdoptionShare } = state;
  if (offeredClients === 0 || offeredClients < minOfferedClients) return null;
  if (clients / offeredClients >= minAdoptionShare) return null;
  const share = `${clients} clients have checked for updates with ${version} since yesterday`;
  return `Only ${share}, after ${offeredClients} clients were offered it. The minimum is ${percent(minAdoptionShare)}.`;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))}%`;
}

function laterBy(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1000);
}

import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { readDatabaseTime } from "../../platform/db/clock";
import { newId } from "../../platform/db/ids";
import type { Operator } from "../../principal";
import type { NewRollout } from "../publishing/schema";
import { runningFrom } from "./advance-rollouts";
import { leaveRollouts } from "./change-rollouts";

type Deps = Pick<Context, "dbNow">;

export type ScheduledRelease = { id: string; product: string; version: string; platform: string };

export type RolloutPlan = Omit<NewRollout, "filter">;

const MAX_STEPS = 20;
const MIN_EVERY_SECONDS = 60;
const MAX_EVERY_SECONDS = 90 * 24 * 60 * 60;
const MAX_START_DELAY_MS = 366 * 24 * 60 * 60 * 1000;
const DEFAULTS = { maxFailureShare: 0.05, minReports: 50, minAdoptionShare: 0.1, minOfferedClients: 50 };

/**
 * Schedules the rollout of a version in place of the schedules of its releases, which go on for the other `known` ones.
 * Whoever commits it writes `initialRollout` to the catalog. Returns the schedule's id. @throws AppError
 */
export async function scheduleRollout(
  { dbNow }: Deps,
  tx: Tx,
  releases: readonly ScheduledRelease[],
  plan: RolloutPlan,
  operator: Operator,
  known: readonly { id: string; platform: string }[] = releases,
): Promise<string> {
  const { product, version } = assertSchedulable(releases, plan);
  const releaseIds = releases.map(({ id }) => id).sort();
  const platforms = [...new Set(releases.map(({ platform }) => platform))].sort();
  const now = await readDatabaseTime({ db: tx, dbNow });
  const replaced = await leaveRollouts(tx, releaseIds, known);
  const { steps, everySeconds, startsAt, ...thresholds } = plan;
  const id = newId();
  await tx.rolloutSchedule.create({
    data: {
      id,
      product,
      version,
      platforms,
      releaseIds,
      everySeconds,
      ...DEFAULTS,
      ...thresholds,
      steps: [...steps],
      catalogRollout: initialRollout(plan),
      ...(await runningFrom(tx, { product, version, platforms, everySeconds }, now)),
      ...(startsAt && { state: "halted", haltReason: `It starts at ${startsAt.toISOString()}.`, startsAt }),
      createdAt: now,
    },
  });
  const start = startsAt?.toISOString() ?? null;
  const details = { product, version, releaseIds, steps: [...steps], everySeconds, replaced, startsAt: start };
  await recordOperatorEvent(tx, now, operator, { type: "rollout_started", target: `rollout:${id}`, details });
  return id;
}

/** What the catalog says while the schedule applies: what an instance offers that has not read the schedule yet. */
export function initialRollout({ steps, startsAt }: RolloutPlan): number {
  return startsAt ? 0 : (steps[0] ?? 0);
}

export function assertSchedulable(
  releases: readonly ScheduledRelease[],
  { steps, everySeconds, startsAt }: RolloutPlan,
  now?: Date,
): ScheduledRelease {
  const [first] = releases;
  if (!first) throw invalid("There is no release to roll out.");
  const isOther = ({ product, version }: ScheduledRelease) => product !== first.product || version !== first.version;
  if (releases.some(isOther)) throw invalid("A schedule is for one version of one product: narrow the selection.");
  const isAscending = steps.every((step, i) => step > (steps[i - 1] ?? 0) && step <= 100 && isTenth(step));
  if (steps.length === 0 || steps.length > MAX_STEPS || !isAscending) {
    throw invalid(
      `The steps must be 1 to ${MAX_STEPS} ascending percentages up to 100, with at most one decimal place.`,
    );
  }
  if (everySeconds < MIN_EVERY_SECONDS || everySeconds > MAX_EVERY_SECONDS) {
    throw invalid("The time of a step must be from 1 minute to 90 days.");
  }
  if (now && startsAt && startsAt.getTime() - now.getTime() > MAX_START_DELAY_MS) {
    throw invalid("The rollout must start within a year.");
  }
  return first;
}

const isTenth = (step: number) => Math.abs(step * 10 - Math.round(step * 10)) < 1e-9;

const invalid = (message: string) => new AppError("rollout_invalid", message);

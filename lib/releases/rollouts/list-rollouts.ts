import { z } from "zod";
import type { Context } from "../../context";
import type { RolloutSchedule } from "../../platform/db/generated/client";

export const RolloutState = z.object({
  id: z.uuid(),
  product: z.string(),
  version: z.string(),
  releaseIds: z.array(z.string()),
  state: z.enum(["scheduled", "running", "halted", "completed"]).describe("scheduled: it starts at `startsAt`."),
  rollout: z
    .number()
    .describe("The percentage of clients that are offered the version now: 0 while it is scheduled or halted."),
  steps: z.array(z.number()).describe("Percentages."),
  step: z.int().describe("The index of the current step."),
  everySeconds: z.int().describe("How long a step lasts."),
  startsAt: z.date().nullable(),
  nextStepAt: z.date().nullable().describe("null unless the rollout runs."),
  haltedAt: z.date().nullable(),
  haltReason: z.string().nullable(),
  settledAt: z
    .date()
    .nullable()
    .describe(
      "When a completed rollout's last percentage was written to the catalog. Until then the schedule applies.",
    ),
  createdAt: z.date(),
});
export type RolloutState = z.infer<typeof RolloutState>;

export const RolloutList = z.object({ rollouts: z.array(RolloutState) });

/** The schedules of rollouts, newest first. */
export async function listRollouts({ db }: Pick<Context, "db">): Promise<RolloutState[]> {
  return (await db.rolloutSchedule.findMany({ orderBy: { id: "desc" } })).map(toRolloutState);
}

/** A schedule as operators see it. A scheduled one is stored as halted, for builds that do not know `startsAt`. */
export function toRolloutState(schedule: RolloutSchedule): RolloutState {
  const { steps, step, startsAt, nextStepAt, haltedAt, haltReason } = schedule;
  const state = startsAt === null ? RolloutState.shape.state.parse(schedule.state) : "scheduled";
  const isServed = state === "running" || state === "completed";
  return RolloutState.parse({
    ...schedule,
    state,
    rollout: isServed ? (steps[step] ?? 0) : 0,
    nextStepAt: state === "running" ? nextStepAt : null,
    haltedAt: state === "halted" ? haltedAt : null,
    haltReason: state === "halted" ? haltReason : null,
  });
}

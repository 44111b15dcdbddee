import { z } from "zod";
import type { Context } from "../../../context";

export const RolloutState = z.object({
  id: z.uuid(),
  product: z.string(),
  version: z.string(),
  releaseIds: z.array(z.string()),
  state: z.enum(["running", "halted", "completed"]),
  rollout: z.number().describe("The percentage of clients that are offered the version now: 0 while it is halted."),
  steps: z.array(z.number()).describe("Percentages."),
  step: z.int().describe("The index of the present step."),
  nextStepAt: z.date().nullable().describe("null unless the rollout runs."),
  haltedAt: z.date().nullable(),
  haltReason: z.string().nullable(),
  createdAt: z.date(),
});
export type RolloutState = z.infer<typeof RolloutState>;

export const RolloutList = z.object({ rollouts: z.array(RolloutState) });

/** The schedules of rollouts, newest first. */
export async function listRollouts({ db }: Pick<Context, "db">): Promise<RolloutState[]> {
  const schedules = await db.rolloutSchedule.findMany({ orderBy: { id: "desc" } });
  return schedules.map((schedule) => {
    const { steps, step, nextStepAt } = schedule;
    const state = RolloutState.shape.state.parse(schedule.state);
    const rollout = state === "halted" ? 0 : (steps[step] ?? 0);
    return RolloutState.parse({ ...schedule, state, rollout, nextStepAt: state === "running" ? nextStepAt : null });
  });
}

/** A schedule in a few words, for a list of releases: "20 % (2 of 4)", or why it was halted. */
export function describeRollout({ state, rollout, steps, step, haltReason }: RolloutState): string {
  const position = `step ${step + 1} of ${steps.length}`;
  if (state === "halted") return `halted at ${position}: ${haltReason}`;
  return state === "completed" ? `${rollout} %` : `${rollout} % (${position})`;
}

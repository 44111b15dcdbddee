import { z } from "zod";
import { Time } from "../../../platform/storable";
import { ReleasesFilter } from "./maintenance";

/** Fits the column, and is more than any version has. */
const MAX_REPORTS = 1_000_000_000;
const share = z.number().min(0).max(1).optional();

/** A rollout that advances by itself. */
export const NewRollout = z.strictObject({
  filter: ReleasesFilter,
  steps: z.array(z.number()).min(1).max(20).describe("Ascending percentages, in tenths at most."),
  everySeconds: z.int().describe("How long a step lasts: a minute to 90 days."),
  startsAt: Time.optional().describe(
    "When the first step begins. Until then nobody is offered the version. At once by default.",
  ),
  maxFailureShare: share.describe("Maximum share of reports that are failures, from 0 to 1. Default: 0.05."),
  minReports: z
    .int()
    .min(1)
    .max(MAX_REPORTS)
    .optional()
    .describe("Minimum number of reports before failures can halt the rollout. Default: 50."),
  minAdoptionShare: share.describe(
    "Minimum share of the clients to which the version was offered that must check for updates with it. Default: 0.1; 0 turns it off.",
  ),
});
export type NewRollout = z.infer<typeof NewRollout>;

export const RolloutParams = z.object({ rolloutId: z.string().max(64) });

/** The state to give a rollout. */
export const ChangedRollout = z.strictObject({
  state: z
    .enum(["running", "halted", "completed"])
    .describe("`running` resumes a halted rollout and starts a scheduled one; `completed` goes to the last step."),
  reason: z.string().trim().min(1).max(500).optional().describe("Why it is halted, for operators."),
});
export type ChangedRollout = z.infer<typeof ChangedRollout>;

import { operation } from "../../operation";
import { ifMatch, withSeenState } from "../../platform/http/content/conditional";
import { ADMISSION_ERRORS, CHANGE_ERRORS, CHANGES, READS } from "../publishing/operations";
import { ChangedRollout, NewRollout, RolloutParams } from "../publishing/schema";
import { RolloutList, RolloutState } from "./list-rollouts";
import { changeRollout, listOwnRollouts, readSeenRollout, startRollout } from "./manage-rollouts";

const RUNNING = {
  id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32",
  product: "core",
  version: "1.2.0",
  releaseIds: ["core-windows-x64-1.2.0"],
  state: "running",
  rollout: 20,
  steps: [5, 20, 50, 100],
  step: 1,
  everySeconds: 86_400,
  startsAt: null,
  nextStepAt: "2026-11-23T09:00:00.000Z",
  haltedAt: null,
  haltReason: null,
  settledAt: null,
  createdAt: "2026-11-21T09:00:00.000Z",
};

const HALTED = {
  ...RUNNING,
  state: "halted",
  rollout: 0,
  nextStepAt: null,
  haltedAt: "2026-11-22T14:03:00.000Z",
  haltReason: "12.5% of 80 reports say that 1.2.0 failed or was rolled back. The maximum is 5%.",
};

const SCHEDULED = {
  ...RUNNING,
  state: "scheduled",
  rollout: 0,
  step: 0,
  startsAt: "2026-11-24T09:00:00.000Z",
  nextStepAt: null,
};

export const rolloutOperations = {
  listRollouts: operation({
    id: "listRollouts",
    summary: "List the schedules of rollouts",
    description: "Lists the schedules of rollouts, newest first, with the reason why one was halted.",
    ...READS,
    response: {
      description: "The schedules.",
      schema: RolloutList,
      examples: { "A halted rollout": { rollouts: [HALTED] } },
    },
    run: async ({ ctx, operator }) => ({ rollouts: await listOwnRollouts(ctx, operator) }),
  }),

  scheduleRollout: operation({
    id: "scheduleRollout",
    summary: "Schedule a rollout",
    description:
      "Rolls out a version in steps that the service advances by itself, at once or from `startsAt` on. Writes the first percentage to the catalog, or 0 until the start; a catalog at a URL must have it already. Replaces the schedules of the same releases. Yanked releases are left out.",
    ...CHANGES,
    body: NewRollout,
    errors: [
      ...CHANGE_ERRORS,
      "catalog_unavailable",
      "release_not_found",
      "release_yanked",
      ...ADMISSION_ERRORS,
      "rollout_invalid",
      "precondition_failed",
    ],
    examples: {
      "A step a day": { filter: { product: "core", version: "1.2.0" }, steps: [5, 20, 50, 100], everySeconds: 86400 },
      "From Tuesday on": {
        filter: { product: "core", version: "1.2.0" },
        steps: [5, 100],
        everySeconds: 86400,
        startsAt: "2026-11-24T09:00:00Z",
      },
    },
    response: {
      status: 201,
      description: "The schedule applies. All instances follow within ten seconds.",
      schema: RolloutState,
      examples: { Scheduled: SCHEDULED },
    },
    run: ({ ctx, operator, body, request }) => startRollout(ctx, operator, body, ifMatch(request)),
  }),

  getRollout: operation({
    id: "getRollout",
    summary: "Get the schedule of a rollout",
    description:
      "Returns a schedule, with the reason why it was halted. `ETag` identifies the state of its product, for `If-Match` of a change.",
    ...READS,
    params: RolloutParams,
    errors: ["rollout_not_found", "catalog_invalid", "catalog_unavailable"],
    response: { description: "The schedule.", schema: RolloutState, headers: ["ETag"], examples: { Running: RUNNING } },
    run: async ({ ctx, operator, params }) => withSeenState(await readSeenRollout(ctx, operator, params.rolloutId)),
  }),

  changeRollout: operation({
    id: "changeRollout",
    summary: "Halt, resume or complete a rollout",
    description:
      "Halts a rollout: nobody else is offered the version, and clients that have it keep it. Resumes it at the same step, for that step's full duration; starts a scheduled one now; or completes it at its last step. Setting a percentage of a release takes it out of its schedule instead. A rollout whose releases are yanked stays halted. Requesting the current state changes nothing.",
    ...CHANGES,
    params: RolloutParams,
    body: ChangedRollout,
    errors: ["rollout_not_found", "rollout_conflict", "precondition_failed", "catalog_invalid", "catalog_unavailable"],
    examples: {
      Halt: { state: "halted", reason: "It crashes on start." },
      Resume: { state: "running" },
      Complete: { state: "completed" },
    },
    response: {
      description: "The rollout has this state. All instances follow within ten seconds.",
      schema: RolloutState,
      examples: { Resumed: RUNNING },
    },
    run: ({ ctx, operator, params, body, request }) =>
      changeRollout(ctx, operator, params.rolloutId, body, ifMatch(request)),
  }),
};

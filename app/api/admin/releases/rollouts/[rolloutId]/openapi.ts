import type { OperationDetails } from "@/scripts/openapi/operation";

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

export const GET: OperationDetails = {
  operationId: "getRollout",
  description:
    "Returns a schedule, with the reason why it was halted. `ETag` identifies the state of its product, for `If-Match` of a change.",
  responses: { 200: { description: "The schedule.", headers: ["ETag"], examples: { Running: RUNNING } } },
};

export const PATCH: OperationDetails = {
  operationId: "changeRollout",
  reads: ["IfMatchState"],
  description:
    "Halts a rollout: nobody else is offered the version, and clients that have it keep it. Resumes it at the same step, for that step's full duration; starts a scheduled one now; or completes it at its last step. Setting a percentage of a release takes it out of its schedule instead. A rollout whose releases are yanked stays halted. Requesting the current state changes nothing.",
  requests: {
    Halt: { state: "halted", reason: "It crashes on start." },
    Resume: { state: "running" },
    Complete: { state: "completed" },
  },
  responses: {
    200: {
      description: "The rollout has this state. All instances follow within ten seconds.",
      examples: { Resumed: RUNNING },
    },
  },
};

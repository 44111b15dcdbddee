import type { OperationDetails } from "@/scripts/openapi/operation";

const HALTED = {
  id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32",
  product: "core",
  version: "1.2.0",
  releaseIds: ["core-windows-x64-1.2.0"],
  state: "halted",
  rollout: 0,
  steps: [5, 20, 50, 100],
  step: 1,
  everySeconds: 86_400,
  startsAt: null,
  nextStepAt: null,
  haltedAt: "2026-11-22T14:03:00.000Z",
  haltReason: "12.5% of 80 reports say that 1.2.0 failed or was rolled back. The maximum is 5%.",
  settledAt: null,
  createdAt: "2026-11-21T09:00:00.000Z",
};

const SCHEDULED = {
  ...HALTED,
  state: "scheduled",
  step: 0,
  startsAt: "2026-11-24T09:00:00.000Z",
  haltedAt: null,
  haltReason: null,
};

export const GET: OperationDetails = {
  operationId: "listRollouts",
  description: "Lists the schedules of rollouts, newest first, with the reason why one was halted.",
  responses: {
    200: {
      description: "The schedules.",
      examples: {
        "A halted rollout": {
          rollouts: [HALTED],
        },
      },
    },
  },
};

export const POST: OperationDetails = {
  operationId: "scheduleRollout",
  reads: ["IfMatchState"],
  description:
    "Rolls out a version in steps that the service advances by itself, at once or from `startsAt` on. Writes the first percentage to the catalog, or 0 until the start; a catalog at a URL must have it already. Replaces the schedules of the same releases. Yanked releases are left out.",
  requests: {
    "A step a day": { filter: { product: "core", version: "1.2.0" }, steps: [5, 20, 50, 100], everySeconds: 86400 },
    "From Tuesday on": {
      filter: { product: "core", version: "1.2.0" },
      steps: [5, 100],
      everySeconds: 86400,
      startsAt: "2026-11-24T09:00:00Z",
    },
  },
  responses: {
    201: {
      description: "The schedule applies. All instances follow within ten seconds.",
      examples: { Scheduled: SCHEDULED },
    },
  },
};

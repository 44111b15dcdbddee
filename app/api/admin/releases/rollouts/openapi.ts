import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listRollouts",
  description: "Lists the schedules of rollouts, newest first, with the reason why one was halted.",
  responses: {
    200: {
      description: "The schedules.",
      examples: {
        "A halted rollout": {
          rollouts: [
            {
              id: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32",
              product: "core",
              version: "1.2.0",
              releaseIds: ["core-windows-x64-1.2.0"],
              state: "halted",
              rollout: 0,
              steps: [5, 20, 50, 100],
              step: 1,
              nextStepAt: null,
              haltedAt: "2026-11-22T14:03:00.000Z",
              haltReason: "12.5 % of 80 reports tell that 1.2.0 failed or was rolled back. At most 5 % may.",
              createdAt: "2026-11-21T09:00:00.000Z",
            },
          ],
        },
      },
    },
  },
};

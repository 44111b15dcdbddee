import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "rollBackReleases",
  reads: ["IfMatchState"],
  description:
    "Rolls back to an older version, all at once: marks its releases as rollbacks for everybody, and withdraws the newer releases of their channel that the same computers get. Clients with a withdrawn version are offered the older one, if their updater can install it. Halts the schedules of releases that it yanks, and ends those of the others.",
  requests: { "Back to 1.1.0": { filter: { product: "core", version: "1.1.0", channel: "stable" } } },
  responses: {
    200: {
      description: "The older version is offered.",
      examples: {
        "Rolled back": {
          releases: [{ id: "core-windows-x64-1.1.0", outcome: "changed" }],
          withdrawn: ["core-windows-x64-1.2.0"],
        },
      },
    },
  },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "pruneReleases",
  reads: ["IfMatchState"],
  description:
    "Removes files that belong to no release and, if a limit is given, old releases. With both limits, only those that exceed both. Releases that a client may need stay. The `ETag` of a dry run can be sent as `If-Match` with the change itself, so that it is refused if the products' releases or their schedules have changed since.",
  requests: {
    "What would be removed": { keep: 5, publishedBefore: "2026-08-20T00:00:00Z", isDryRun: true },
  },
  responses: {
    200: {
      description: "What was removed, or would be. Only a dry run has an `ETag`.",
      headers: ["ETag"],
      examples: {
        Removed: {
          releases: ["core-windows-x64-1.0.0"],
          files: ["9f86d081884c7d65/Acme-1.0.0-x64.exe"],
          freedBytes: 104857600,
          elsewhere: [],
        },
      },
    },
  },
};

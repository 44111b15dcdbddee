import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "removeReleases",
  reads: ["IfMatchState"],
  description:
    "Removes the releases that the filter selects from the catalog, all of them or none, and the files that no other release has. Releases that are offered to clients are removed with `isForced` only. The `ETag` of a dry run can be sent as `If-Match` with the change itself, so that it is refused if the products' releases or their schedules have changed since.",
  requests: { "A withdrawn version": { filter: { product: "core", version: "2.3.0" }, isDryRun: true } },
  responses: {
    200: {
      description: "What was removed, or would be. Only a dry run has an `ETag`.",
      headers: ["ETag"],
      examples: {
        Removed: {
          releases: ["core-windows-x64-2.3.0"],
          files: ["9f86d081884c7d65/Acme-2.3.0-x64.exe"],
          elsewhere: [],
        },
      },
    },
  },
};

import { RELEASE } from "@/app/api/admin/releases/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getRelease",
  description:
    "Returns a release with all fields of the catalog. `ETag` identifies the state of its product, for `If-Match` of a change.",
  responses: { 200: { description: "The release.", headers: ["ETag"], examples: { Release: RELEASE } } },
};

export const PATCH: OperationDetails = {
  operationId: "changeRelease",
  reads: ["IfMatchState"],
  description:
    "Changes fields of a release: its rollout, its notes, whether it is yanked. A percentage takes it out of its schedule. A yank halts the schedule, which resumes when the release is offered again. Files never change. `newerServed` names the releases that keep clients from rolling back to this one.",
  requests: { "A larger rollout": { rollout: 50 }, Withdrawn: { yanked: true } },
  responses: {
    200: {
      description: "The release has these fields.",
      examples: {
        Changed: { releases: [{ id: "core-windows-x64-2.3.0", outcome: "changed" }], newerServed: [] },
      },
    },
  },
};

export const DELETE: OperationDetails = {
  operationId: "removeRelease",
  reads: ["IfMatchState"],
  description:
    "Removes a release from the catalog, and the files that no other release has. A release that is offered to clients is removed with `force=true` only.",
  responses: {
    200: {
      description: "What was removed, or would be.",
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

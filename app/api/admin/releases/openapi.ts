import { RELEASE } from "@/app/api/admin/releases/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listReleases",
  description: "Lists releases by product, platform and architecture, newest first, with all fields of the catalog.",
  responses: {
    200: {
      description: "A page of releases.",
      examples: {
        "One release": {
          releases: [RELEASE],
          nextCursor: null,
        },
      },
    },
  },
};

export const POST: OperationDetails = {
  operationId: "publishReleases",
  description:
    "Publishes complete uploads as releases, all of them visible at once, and deletes the uploads. If anything is wrong, nothing is published and the uploads stay. Publishing the same files again changes nothing. It can take minutes, because the files are hashed: send an `Idempotency-Key`, and repeat the request if the connection breaks.",
  requests: {
    "One release with one file": {
      releases: [
        {
          release: { product: "core", platform: "windows", architecture: "x64", version: "2.3.0", notes: "Faster." },
          files: [{ uploadId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11", kinds: ["installer", "update"] }],
        },
      ],
    },
  },
  responses: {
    201: {
      description: "The releases are in the catalog, in the order of the request.",
      examples: {
        Published: {
          releases: [{ id: "core-windows-x64-2.3.0", outcome: "added" }],
          removedSamples: [],
          notes: [],
        },
      },
    },
  },
};

export const PATCH: OperationDetails = {
  reads: ["IfMatchState"],
  operationId: "changeReleases",
  description:
    "Changes fields of several releases in one write: all that the filter selects, or none. A percentage ends the schedules of their rollouts.",
  requests: {
    "A larger rollout on all platforms": { filter: { product: "core", version: "2.3.0" }, change: { rollout: 50 } },
  },
  responses: {
    200: {
      description: "The releases have these fields.",
      examples: { Changed: { releases: [{ id: "core-windows-x64-2.3.0", outcome: "changed" }], newerServed: [] } },
    },
  },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "promoteReleases",
  reads: ["IfMatchState"],
  description:
    "Offers the same builds on another channel, all at once: adds a release with the same version, files and notes for each release that the filter selects. A prerelease cannot become stable. Repeating the request changes nothing.",
  requests: {
    "A tested build for everyone": {
      filter: { ids: ["2.3.0"], product: "core" },
      from: "beta",
      to: "stable",
      rollout: 10,
    },
  },
  responses: {
    200: {
      description: "The releases are on the channel.",
      examples: {
        Promoted: {
          releases: [{ id: "core-windows-x64-2.3.0-stable", from: "core-windows-x64-2.3.0", outcome: "added" }],
        },
      },
    },
  },
};

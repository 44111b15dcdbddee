import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "previewReleases",
  description:
    "Shows which release each group of clients gets before and after a change, and how many of yesterday's clients are affected. Changes nothing. The selection is the one of `GET /api/version`, for clients that send an id and run on a system that every release supports. Send the `ETag` as `If-Match` with the change itself, so that it is refused if the product's releases or their schedules have changed since.",
  requests: {
    "A smaller rollout": {
      kind: "change",
      filter: { product: "core", version: "1.2.0" },
      change: { rollout: 10 },
    },
    "A rollback": { kind: "rollback", filter: { product: "core", version: "1.1.0" } },
    "A halt": { kind: "rollout", rolloutId: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32", state: "halted" },
  },
  responses: {
    200: {
      description: "The releases before and after.",
      headers: ["ETag"],
      examples: {
        "A smaller rollout": {
          products: ["core"],
          countedOn: "2026-11-22",
          clients: 1_240,
          changedClients: 918,
          rows: [
            {
              product: "core",
              platform: "windows",
              architecture: "x64",
              channel: "stable",
              installed: "1.1.0",
              clients: 1_020,
              changedShare: 0.9,
              before: [{ version: "1.2.0", share: 1, isMandatory: false, isOlder: false }],
              after: [
                { version: null, share: 0.9, isMandatory: false, isOlder: false },
                { version: "1.2.0", share: 0.1, isMandatory: false, isOlder: false },
              ],
            },
          ],
          changes: [{ id: "core-windows-x64-1.2.0", version: "1.2.0", outcome: "changed" }],
        },
      },
    },
  },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "readPushStatistics",
  description:
    "Counts the deliveries that have ended in the last 24 hours by hour, or in 30 days by day, in UTC, and by state and reason; and those that are due and not sent yet. Deliveries that an older version sends during an upgrade are not counted.",
  responses: {
    200: {
      description: "The counts.",
      examples: {
        "The last hour": {
          buckets: [{ at: "2026-11-20T09:00:00.000Z", sent: 243800, failed: 1200, cancelled: 0 }],
          outcomes: [
            { state: "sent", reason: null, count: 243800 },
            { state: "failed", reason: "Unregistered", count: 1200 },
          ],
          queue: { due: 12, oldestDueAt: "2026-11-20T09:12:00.000Z" },
        },
      },
    },
  },
};

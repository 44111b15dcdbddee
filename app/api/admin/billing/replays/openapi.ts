import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "replayBillingEvents",
  description:
    "Applies the events of a state again, oldest first: `limit` of them, and for five seconds at most. Send `nextCursor` as `cursor` until it is null. Events that arrive after the first request are left out. Notifications are sent as for the replay of one event. It can be interrupted and repeated.",
  requests: { "The failed events": { state: "failed", limit: 50 } },
  responses: {
    200: {
      description: "The outcomes for the events.",
      examples: { "All processed": { counts: { processed: 12 }, failures: [], progress: 1, nextCursor: null } },
    },
  },
};

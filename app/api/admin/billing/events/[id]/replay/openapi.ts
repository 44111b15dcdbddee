import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "replayBillingEvent",
  description:
    "Parses the event's payload again, and applies the event again. Every event counts once and in its original position: two operators may replay an event at the same time. An event that is applied for the first time may notify the owner, once, if it is not older than a day; an event that was processed before notifies nobody.",
  requests: { "With a reason": { reason: "The store's outage is over" } },
  responses: {
    200: {
      description: "The outcome for the event. `failed` is not an error of the request.",
      examples: {
        Processed: {
          id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
          eventId: "12345678-1234-1234-1234-123456789012",
          type: "RENEWAL",
          status: "processed",
          reason: null,
        },
      },
    },
  },
};

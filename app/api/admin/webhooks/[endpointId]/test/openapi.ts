import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "sendWebhookTestEvent",
  description: "Queues an event of type `webhook.test` for the endpoint, whatever types it subscribes to.",
  responses: {
    202: {
      description: "The event is queued.",
      examples: { "An event": { eventId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12" } },
    },
  },
};

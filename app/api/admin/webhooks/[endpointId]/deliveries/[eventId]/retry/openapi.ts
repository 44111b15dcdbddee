import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "retryWebhookDelivery",
  description:
    "Queues the delivery of an event again, even if it was delivered. Its attempts are counted from the beginning.",
  responses: { 202: { description: "It is queued." } },
};

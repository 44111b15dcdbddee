import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "retryWebhookDelivery",
  description: "Queues the delivery of an event again, also one that was delivered. Its attempts start anew.",
  responses: { 202: { description: "It is queued." } },
};

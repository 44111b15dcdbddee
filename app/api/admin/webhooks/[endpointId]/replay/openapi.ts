import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "replayWebhookDeliveries",
  description:
    "Queues the events since a time again: those whose delivery failed, and those that happened while the endpoint was disabled. With `all`, those that were delivered, too. Receivers recognize an event by its `webhook-id`.",
  requests: { "Since an outage": { since: "2026-11-22T09:00:00Z" } },
  responses: { 202: { description: "They are queued.", examples: { "Three events": { queued: 3 } } } },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const DELIVERY = {
  eventId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12",
  type: "account.created",
  occurredAt: "2026-11-22T09:00:00.000Z",
  state: "delivered",
  attempts: 1,
  nextAttemptAt: null,
  lastAttemptAt: "2026-11-22T09:00:01.000Z",
  durationMs: 84,
  responseStatus: 200,
  error: null,
};

export const GET: OperationDetails = {
  operationId: "listWebhookDeliveries",
  description: "Lists deliveries, those of the newest events first. Deliveries are kept for 30 days.",
  responses: {
    200: {
      description: "A page of deliveries.",
      examples: { "One delivery": { deliveries: [DELIVERY], nextCursor: null } },
    },
  },
};

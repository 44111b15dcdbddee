import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "retryPushDeliveries",
  description:
    "Ends the pauses of APNs environments, and requeues failed deliveries that have not expired: those with the given ids, or all, up to 100,000 a request. Devices that APNs reported as invalid stay invalid.",
  requests: { All: {}, "One delivery": { ids: ["019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b13"] } },
  responses: {
    200: {
      description: "How many are queued again.",
      examples: { "Two deliveries": { resumed: 0, retried: 2, isComplete: true } },
    },
  },
};

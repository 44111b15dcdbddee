import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "retryQueuedEmails",
  description: "Sends emails that wait for another attempt at once: those with the given ids, or all.",
  requests: { All: {}, "One email": { ids: ["019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b14"] } },
  responses: {
    200: {
      description: "How many are due now.",
      examples: { "Two emails": { retried: 2 } },
    },
  },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "pruneBillingPayloads",
  description:
    "Deletes the payloads of deliveries older than `BILLING_PAYLOAD_RETENTION_DAYS`, of 5,000 events at most. Send `nextCursor` as `cursor` until it is null. The events stay, and so do the payloads of failed events.",
  responses: {
    200: {
      description: "How many payloads were deleted.",
      examples: { Deleted: { deleted: 230, progress: 1, nextCursor: null } },
    },
  },
};

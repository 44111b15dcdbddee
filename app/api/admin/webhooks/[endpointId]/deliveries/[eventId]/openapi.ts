import { DELIVERY } from "@/app/api/admin/webhooks/[endpointId]/deliveries/openapi";
import type { OperationDetails } from "@/scripts/openapi/operation";

const PAYLOAD = {
  type: DELIVERY.type,
  timestamp: DELIVERY.occurredAt,
  data: { accountId: "019aa5f0-1111-7b60-9d2f-3a1f0c5e8b11" },
};

export const GET: OperationDetails = {
  operationId: "getWebhookDelivery",
  description: "Returns a delivery with what was sent and the start of the last response.",
  responses: {
    200: {
      description: "The delivery.",
      examples: { "A delivery": { ...DELIVERY, payload: PAYLOAD, responseBody: "ok" } },
    },
  },
};

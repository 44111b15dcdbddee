import { webhookOperations } from "@/lib/admin/webhooks/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/webhooks/[endpointId]/deliveries",
  {
    GET: webhookOperations.listWebhookDeliveries,
  },
);

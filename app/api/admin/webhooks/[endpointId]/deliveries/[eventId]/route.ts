import { defineRoute } from "@/lib/platform/http/route";
import { webhookOperations } from "@/lib/webhooks/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/webhooks/[endpointId]/deliveries/[eventId]",
  { GET: webhookOperations.getWebhookDelivery },
);

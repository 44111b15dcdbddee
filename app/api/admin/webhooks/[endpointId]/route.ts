import { defineRoute } from "@/lib/platform/http/route";
import { webhookOperations } from "@/lib/webhooks/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/webhooks/[endpointId]", {
  GET: webhookOperations.getWebhookEndpoint,
  PATCH: webhookOperations.changeWebhookEndpoint,
  DELETE: webhookOperations.deleteWebhookEndpoint,
});

import { WITH_SECRET } from "@/app/api/admin/webhooks/openapi";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "rotateWebhookSecret",
  description:
    "Replaces the secret. For a day, deliveries have two signatures, by the new secret and by the one before. A second rotation within the day ends the first secret at once.",
  responses: { 200: { description: "The endpoint with its new secret.", examples: { "An endpoint": WITH_SECRET } } },
};

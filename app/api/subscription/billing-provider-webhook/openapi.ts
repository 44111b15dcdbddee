import { REVENUECAT, STANDARD } from "@/app/api/subscription/openapi-examples";
import { examplesOf, type OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "receiveBillingEvent",
  description:
    "For the billing provider: RevenueCat, or any sender that follows Standard Webhooks. A delivery is authenticated by its signature, by its Authorization header, or by both, as configured. Deliveries may be repeated, late and out of order. The provider must retry a delivery unless the response is 200.",
  security: [
    { revenueCatSignature: [] },
    { webhookAuthorization: [] },
    { revenueCatSignature: [], webhookAuthorization: [] },
    { standardWebhooksSignature: [] },
    { standardWebhooksSignature: [], webhookAuthorization: [] },
  ],
  reads: ["WebhookId", "WebhookTimestamp"],
  requestBody: {
    required: true,
    content: {
      "application/json": {
        schema: {
          anyOf: [
            { $ref: "#/components/schemas/RevenueCatDelivery" },
            { $ref: "#/components/schemas/StandardWebhook" },
          ],
        },
        examples: examplesOf({ RevenueCat: REVENUECAT, "Standard Webhooks": STANDARD }),
      },
    },
  },
  responses: {
    200: {
      description: "Durable, or known to be of no use.",
      examples: {
        Applied: { status: "processed", eventId: REVENUECAT.event.id },
        "Known already": { status: "duplicate", eventId: REVENUECAT.event.id },
        "Of no use here": { status: "ignored", eventId: REVENUECAT.event.id },
      },
    },
  },
};

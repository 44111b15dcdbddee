import { REVENUECAT, STANDARD } from "@/app/api/subscription/openapi-examples";
import { examplesOf, type OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "receiveBillingEvent",
  description:
    "Receives webhooks from RevenueCat, Stripe, Paddle Billing, the App Store, or any sender that follows Standard Webhooks: from several at once, which are recognized by their signatures. That of the App Store is in the body. A delivery is authenticated by its signature, by its Authorization header, or by both, as configured. Deliveries may be repeated, late and out of order. The provider must retry a delivery unless the response is 200.",
  security: [
    { revenueCatSignature: [] },
    { webhookAuthorization: [] },
    { revenueCatSignature: [], webhookAuthorization: [] },
    { standardWebhooksSignature: [] },
    { standardWebhooksSignature: [], webhookAuthorization: [] },
    { stripeSignature: [] },
    { paddleSignature: [] },
    {},
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
            { $ref: "#/components/schemas/StripeEvent" },
            { $ref: "#/components/schemas/PaddleEvent" },
            { $ref: "#/components/schemas/AppStoreNotification" },
          ],
        },
        examples: examplesOf({ RevenueCat: REVENUECAT, "Standard Webhooks": STANDARD }),
      },
    },
  },
  responses: {
    200: {
      description: "The event was stored, or does not need to be.",
      examples: {
        Processed: { status: "processed", eventId: REVENUECAT.event.id },
        Duplicate: { status: "duplicate", eventId: REVENUECAT.event.id },
        Ignored: { status: "ignored", eventId: REVENUECAT.event.id },
      },
    },
  },
};

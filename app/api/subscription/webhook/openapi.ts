import { retired } from "@/scripts/openapi/retired";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = retired(
  "SubscriptionWebhook",
  "/api/subscription/billing-provider-webhook",
);

import { retiredEndpoint } from "@/lib/platform/http/retired-endpoint";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/subscription/webhook",
  retiredEndpoint("SubscriptionWebhook", "/api/subscription/billing-provider-webhook"),
);

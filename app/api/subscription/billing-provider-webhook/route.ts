import { endpoint } from "@/lib/http/endpoint";
import { parseJson } from "@/lib/http/input/body";
import { defineRoute } from "@/lib/http/route";
import { receiveWebhook } from "@/lib/subscriptions/receive-webhook";
import { DeliveryReceipt, WebhookQuery } from "@/lib/subscriptions/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/subscription/billing-provider-webhook",
  {
    POST: endpoint({
      summary: "Receive a billing provider's webhook",
      reads: "raw",
      maxBodyBytes: 256 * 1024,
      query: WebhookQuery,
      errors: ["malformed_json", "validation_failed", "webhook_unauthorized", "webhook_not_configured", "rate_limited"],
      responses: { 200: DeliveryReceipt },
      handle: ({ ctx, bytes, ip, query, request: { headers } }) =>
        receiveWebhook(ctx, { ...query, raw: bytes, headers, network: ip, json: () => parseJson(bytes) }),
    }),
  },
);

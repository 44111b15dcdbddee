import { parseJson } from "@/lib/http/input";
import { defineRoute, endpoint } from "@/lib/http/route";
import { receiveDelivery } from "@/lib/subscriptions/inbox/receive";
import { DeliveryReceipt } from "@/lib/subscriptions/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/subscription/billing-provider-webhook",
  {
    POST: endpoint({
      summary: "Receive a delivery of the billing provider",
      body: "raw",
      bodyLimitBytes: 256 * 1024,
      errors: ["malformed_json", "validation_failed", "webhook_unauthorized", "webhook_not_configured"],
      responses: { 200: DeliveryReceipt },
      handle: ({ ctx, raw, request }) =>
        receiveDelivery(ctx, { raw, headers: request.headers, json: () => parseJson(raw) }),
    }),
  },
);

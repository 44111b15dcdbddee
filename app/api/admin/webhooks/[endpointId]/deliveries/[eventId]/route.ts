import { findDelivery } from "@/lib/admin/webhooks/deliveries";
import { DeliveryDetails, DeliveryParams } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/webhooks/[endpointId]/deliveries/[eventId]",
  {
    GET: endpoint({
      summary: "Get a delivery with its payload and response",
      auth: { role: "support", scope: "webhooks:read" },
      params: DeliveryParams,
      errors: ["not_found"],
      responses: { 200: DeliveryDetails },
      handle: ({ ctx, params }) => findDelivery(ctx, params.endpointId, params.eventId),
    }),
  },
);

import { operatorOf } from "@/lib/admin/operator";
import { retryDelivery } from "@/lib/admin/webhooks/replay";
import { DeliveryParams } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/webhooks/[endpointId]/deliveries/[eventId]/retry",
  {
    POST: endpoint({
      summary: "Attempt a delivery now",
      auth: { role: "admin", stepUp: true, scope: "webhooks:write" },
      idempotency: "replay",
      params: DeliveryParams,
      errors: ["not_found", "webhook_disabled"],
      responses: { 202: null },
      handle: async ({ ctx, principal, params, caller }) => {
        await retryDelivery(ctx, operatorOf(principal, caller), params);
        return new RouteResponse(202, null);
      },
    }),
  },
);

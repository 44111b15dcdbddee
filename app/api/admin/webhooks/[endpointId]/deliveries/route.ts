import { listDeliveries } from "@/lib/admin/webhooks/deliveries";
import { Deliveries, DeliveriesQuery, EndpointParams } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/webhooks/[endpointId]/deliveries",
  {
    GET: endpoint({
      summary: "List the deliveries of a webhook endpoint",
      auth: { role: "support", scope: "webhooks:read" },
      params: EndpointParams,
      query: DeliveriesQuery,
      errors: ["not_found"],
      responses: { 200: Deliveries },
      handle: ({ ctx, params, query }) => listDeliveries(ctx, params.endpointId, query),
    }),
  },
);

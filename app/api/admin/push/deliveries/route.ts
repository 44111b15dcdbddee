import { listDeliveries } from "@/lib/admin/push/deliveries/list-deliveries";
import { Deliveries, DeliveriesQuery } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/deliveries", {
  GET: endpoint({
    summary: "List deliveries of notifications to devices",
    auth: { role: "support", scope: "push:read" },
    query: DeliveriesQuery,
    errors: ["not_found"],
    responses: { 200: Deliveries },
    handle: ({ ctx, query }) => listDeliveries(ctx, query),
  }),
});

import { listBillingEvents } from "@/lib/admin/billing/list-events";
import { BillingEvents, BillingEventsQuery } from "@/lib/admin/billing/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/events", {
  GET: endpoint({
    summary: "List the events of the billing inbox",
    auth: { role: "support", scope: "billing:read" },
    query: BillingEventsQuery,
    errors: ["not_found"],
    responses: { 200: BillingEvents },
    handle: ({ ctx, query }) => listBillingEvents(ctx, query),
  }),
});

import { BillingEventDetails, BillingIdParams } from "@/lib/admin/billing/schema";
import { showBillingEvent } from "@/lib/admin/billing/show-event";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/events/[id]", {
  GET: endpoint({
    summary: "Show a billing event",
    auth: { role: "support", scope: "billing:read" },
    params: BillingIdParams,
    errors: ["not_found"],
    responses: { 200: BillingEventDetails },
    handle: ({ ctx, params }) => showBillingEvent(ctx, params.id),
  }),
});

import { readPurchaseTimeline } from "@/lib/admin/billing/purchase-timeline";
import { BillingIdParams, PurchaseTimeline } from "@/lib/admin/billing/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { PageQuery } from "@/lib/lists/pages";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/purchases/[id]", {
  GET: endpoint({
    summary: "Show how a purchase's state came about",
    auth: { role: "support", scope: "billing:read" },
    params: BillingIdParams,
    query: PageQuery,
    errors: ["not_found"],
    responses: { 200: PurchaseTimeline },
    handle: ({ ctx, params, query }) => readPurchaseTimeline(ctx, params.id, query),
  }),
});

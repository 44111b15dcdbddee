import { BillingProducts, BillingProductsQuery, listBillingProducts } from "@/lib/admin/billing-products";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/products", {
  GET: endpoint({
    summary: "List the products that were bought",
    auth: { role: "support", scope: "billing:read" },
    query: BillingProductsQuery,
    responses: { 200: BillingProducts },
    handle: ({ ctx, query }) => listBillingProducts(ctx, query),
  }),
});

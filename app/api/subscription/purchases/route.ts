import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { PageQuery } from "@/lib/lists/pages";
import { Purchases } from "@/lib/subscriptions/schema";
import { listPurchases } from "@/lib/subscriptions/status/list-purchases";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/subscription/purchases", {
  GET: endpoint({
    summary: "List the caller's purchases",
    auth: "account",
    query: PageQuery,
    responses: { 200: Purchases },
    handle: ({ ctx, principal, query }) => listPurchases(ctx, principal.account.id, query),
  }),
});

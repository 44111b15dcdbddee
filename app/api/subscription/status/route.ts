import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";
import { StatusQuery, SubscriptionStatus } from "@/lib/subscriptions/schema";
import { etagOf, requestStatus } from "@/lib/subscriptions/status/await-change";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/subscription/status", {
  GET: endpoint({
    summary: "Get the caller's subscription status",
    auth: "account",
    query: StatusQuery,
    errors: ["rate_limited", "overloaded"],
    responses: { 200: SubscriptionStatus },
    handle: async ({ ctx, principal, query, request }) => {
      const status = await requestStatus(ctx, principal, query, request);
      return new RouteResponse(200, status, { ETag: etagOf(status) });
    },
  }),
});

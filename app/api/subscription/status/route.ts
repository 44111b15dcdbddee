import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { serializedResponse } from "@/lib/http/route-response";
import { StatusQuery, SubscriptionStatus } from "@/lib/subscriptions/schema";
import { requestStatus, serializeStatus } from "@/lib/subscriptions/status/await-change";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/subscription/status", {
  GET: endpoint({
    summary: "Get the caller's subscription status",
    auth: "account",
    query: StatusQuery,
    errors: ["rate_limited", "overloaded"],
    writes: "raw",
    responses: { 200: SubscriptionStatus },
    handle: async ({ ctx, principal, query, request }) => {
      const { json, opaqueTag } = serializeStatus(await requestStatus(ctx, principal, query, request));
      return serializedResponse(200, json, { ETag: `W/"${opaqueTag}"` });
    },
  }),
});

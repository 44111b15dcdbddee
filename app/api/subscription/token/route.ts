import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { issueEntitlementToken } from "@/lib/subscriptions/token/entitlement-token";
import { EntitlementToken, TokenQuery } from "@/lib/subscriptions/token/schema";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/subscription/token", {
  GET: endpoint({
    summary: "Get the caller's entitlements as a signed token",
    auth: "account",
    query: TokenQuery,
    limit: "entitlementTokenByAccount",
    responses: { 200: EntitlementToken },
    handle: ({ ctx, principal, query }) => issueEntitlementToken(ctx, principal, query),
  }),
});

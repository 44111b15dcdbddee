import { revokeAccountSession } from "@/lib/admin/accounts/revoke-sessions";
import { AccountChange, SessionParams, WithReason } from "@/lib/admin/accounts/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/accounts/[accountId]/sessions/[sessionId]",
  {
    DELETE: endpoint({
      summary: "End a session of an account",
      auth: { role: "support", stepUp: true, scope: "accounts:write" },
      idempotency: "replay",
      params: SessionParams,
      query: WithReason.strip(),
      errors: ["not_found"],
      responses: { 200: AccountChange },
      handle: ({ ctx, principal, params, query, caller }) =>
        revokeAccountSession(ctx, operatorOf(principal, caller), params, query),
    }),
  },
);

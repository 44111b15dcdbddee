import { revokeAccountSessions } from "@/lib/admin/accounts/revoke-sessions";
import { AccountChange, AccountParams, WithReason } from "@/lib/admin/accounts/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/accounts/[accountId]/revoke-sessions",
  {
    POST: endpoint({
      summary: "End every session of an account",
      auth: { role: "support", stepUp: true, scope: "accounts:write" },
      idempotency: "replay",
      params: AccountParams,
      body: WithReason,
      isBodyOptional: true,
      errors: ["not_found"],
      responses: { 200: AccountChange },
      handle: ({ ctx, principal, params, body, caller }) =>
        revokeAccountSessions(ctx, operatorOf(principal, caller), params.accountId, body),
    }),
  },
);

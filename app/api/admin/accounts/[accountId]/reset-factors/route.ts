import { resetFactors } from "@/lib/admin/accounts/reset-factors";
import { AccountChange, AccountParams, WithReason } from "@/lib/admin/accounts/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/accounts/[accountId]/reset-factors",
  {
    POST: endpoint({
      summary: "Remove the second factors and passkeys of an account",
      auth: { role: "admin", stepUp: true, scope: "accounts:write" },
      idempotency: "replay",
      params: AccountParams,
      body: WithReason,
      isBodyOptional: true,
      errors: ["not_found", "no_second_factor"],
      responses: { 200: AccountChange },
      handle: ({ ctx, principal, params, body, caller }) =>
        resetFactors(ctx, operatorOf(principal, caller), params.accountId, body),
    }),
  },
);

import { disableAccount } from "@/lib/admin/accounts/disable-account";
import { AccountChange, AccountParams, WithReason } from "@/lib/admin/accounts/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]/disable", {
  POST: endpoint({
    summary: "Disable an account",
    auth: { role: "admin", stepUp: true, scope: "accounts:write" },
    idempotency: "replay",
    params: AccountParams,
    body: WithReason,
    isBodyOptional: true,
    errors: ["not_found", "last_admin"],
    responses: { 200: AccountChange },
    handle: ({ ctx, principal, params, body, caller }) =>
      disableAccount(ctx, operatorOf(principal, caller), params.accountId, body),
  }),
});

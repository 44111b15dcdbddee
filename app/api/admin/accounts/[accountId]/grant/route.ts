import { AccountParams, NewRole, RoleChange } from "@/lib/admin/accounts/schema";
import { setRole } from "@/lib/admin/accounts/set-role";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]/grant", {
  POST: endpoint({
    summary: "Give an account a role",
    auth: { role: "admin", stepUp: true, scope: "accounts:write" },
    idempotency: "replay",
    params: AccountParams,
    body: NewRole,
    errors: ["not_found", "last_admin"],
    responses: { 200: RoleChange },
    handle: ({ ctx, principal, params, body, caller }) =>
      setRole(ctx, operatorOf(principal, caller), params.accountId, body),
  }),
});

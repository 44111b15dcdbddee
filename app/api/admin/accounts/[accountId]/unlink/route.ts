import { AccountParams, ProviderChange, UnlinkedProvider } from "@/lib/admin/accounts/schema";
import { unlinkProvider } from "@/lib/admin/accounts/unlink-provider";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]/unlink", {
  POST: endpoint({
    summary: "Unlink a sign-in provider from an account",
    auth: { role: "admin", stepUp: true, scope: "accounts:write" },
    idempotency: "replay",
    params: AccountParams,
    body: UnlinkedProvider,
    errors: ["not_found"],
    responses: { 200: ProviderChange },
    handle: ({ ctx, principal, params, body, caller }) =>
      unlinkProvider(ctx, operatorOf(principal, caller), params.accountId, body),
  }),
});

import { listAccountEvents } from "@/lib/admin/accounts/details/list-events";
import { AccountEvents, AccountParams } from "@/lib/admin/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { PageQuery } from "@/lib/lists/pages";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]/events", {
  GET: endpoint({
    summary: "List the security events of an account",
    auth: { role: "support", scope: "accounts:read" },
    params: AccountParams,
    query: PageQuery,
    errors: ["not_found"],
    responses: { 200: AccountEvents },
    handle: ({ ctx, params, query }) => listAccountEvents(ctx, params.accountId, query),
  }),
});

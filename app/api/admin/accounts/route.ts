import { Accounts, AccountsQuery } from "@/lib/admin/accounts/schema";
import { searchAccounts } from "@/lib/admin/accounts/search-accounts";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts", {
  GET: endpoint({
    summary: "Search accounts",
    auth: { role: "support", scope: "accounts:read" },
    query: AccountsQuery,
    responses: { 200: Accounts },
    handle: ({ ctx, query }) => searchAccounts(ctx, query),
  }),
});

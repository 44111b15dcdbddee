import { exportAccount, exportFileName } from "@/lib/accounts/export-account";
import { AccountExport } from "@/lib/accounts/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { jsonFile } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/account/export", {
  GET: endpoint({
    summary: "Export the caller's account data",
    auth: "account",
    hasSideEffect: true,
    errors: ["reauthentication_required", "rate_limited"],
    responses: { 200: AccountExport },
    handle: async ({ ctx, principal, caller }) => {
      const data = await exportAccount(ctx, principal, caller);
      return jsonFile(exportFileName(data.exportedAt), data);
    },
  }),
  HEAD: endpoint({
    summary: "Get the headers of the export without creating it",
    auth: "account",
    responses: { 200: null },
    handle: ({ ctx }) => jsonFile(exportFileName(ctx.now()), null),
  }),
});

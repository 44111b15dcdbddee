import { deleteAccount } from "@/lib/accounts/delete-account";
import { AccountDeleted, DeleteAccount } from "@/lib/accounts/schema";
import { callerOf } from "@/lib/auth/caller";
import { defineRoute, endpoint } from "@/lib/http/route";
import { signedOutResponse } from "@/lib/http/session-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/account/delete", {
  POST: endpoint({
    summary: "Delete the caller's account",
    auth: "account",
    body: DeleteAccount,
    errors: ["reauthentication_required", "rate_limited", "overloaded"],
    responses: { 200: AccountDeleted },
    handle: async ({ ctx, request, account, address, body }) => {
      const deleted = await deleteAccount(ctx, account, body.password, callerOf(ctx, request, address));
      return signedOutResponse(200, deleted, account, ctx);
    },
  }),
});

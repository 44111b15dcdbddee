import { deleteAccount } from "@/lib/accounts/delete-account";
import { AccountDeleted, DeleteAccount } from "@/lib/accounts/schema";
import { signedOutResponse } from "@/lib/auth/sessions/session-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/account/delete", {
  POST: endpoint({
    summary: "Delete the caller's account",
    auth: "account",
    body: DeleteAccount,
    errors: ["last_admin", "reauthentication_required", "passkey_invalid", "rate_limited", "overloaded"],
    responses: { 200: AccountDeleted },
    handle: async ({ ctx, principal, caller, body }) => {
      const deleted = await deleteAccount(ctx, principal, body, caller);
      return signedOutResponse(200, deleted, principal, ctx);
    },
  }),
});

import { deleteAccount } from "@/lib/accounts/delete-account";
import { DeleteAccount } from "@/lib/accounts/schema";
import { setSessionCookie } from "@/lib/platform/http/cookies/cookies";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/delete", {
  summary: "Delete the account",
  page: "/account/delete",
  session: true,
  body: DeleteAccount,
  errorPlacement: { last_admin: { message: "You are the only admin. Give another account the role admin first" } },
  handle: async ({ ctx, body, principal, caller }) => {
    await deleteAccount(ctx, principal, body, caller);
    const cookies = [setSessionCookie(ctx.config, null, principal.session.expiresAt)];
    return { to: "/deleted", cookies, isSignedOut: true };
  },
});

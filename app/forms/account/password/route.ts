import { changePassword } from "@/lib/accounts/passwords/change-password";
import { ChangePasswordForm } from "@/lib/accounts/passwords/schema";
import { renewedSessionCookies } from "@/lib/auth/sessions/session-response";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/password", {
  summary: "Change the password",
  page: "/account/password",
  session: true,
  body: ChangePasswordForm,
  handle: async ({ ctx, body, principal, caller }) => {
    const token = await changePassword(ctx, principal, body, caller);
    const cookies = token === null ? [] : renewedSessionCookies(token, { ctx, principal, caller });
    return { to: `/account?done=${token === null ? "password_changed" : "password_changed_here"}`, cookies };
  },
});

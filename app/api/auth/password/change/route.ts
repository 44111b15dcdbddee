import { changePassword } from "@/lib/accounts/passwords/change-password";
import { ChangePassword, PasswordChanged } from "@/lib/accounts/passwords/schema";
import { renewedSessionResponse } from "@/lib/auth/sessions/session-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/password/change", {
  POST: endpoint({
    summary: "Change the caller's password, or set the first one",
    auth: "account",
    body: ChangePassword,
    errors: ["reauthentication_required", "rate_limited", "overloaded"],
    responses: { 200: PasswordChanged },
    handle: async ({ ctx, principal, caller, body }) => {
      const token = await changePassword(ctx, principal, body, caller);
      return renewedSessionResponse(200, { status: "password_changed" }, token, { ctx, principal, caller });
    },
  }),
});

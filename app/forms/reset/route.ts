import { confirmReset } from "@/lib/accounts/password-reset";
import { ConfirmReset, EmailedToken } from "@/lib/accounts/schema";
import { setDeviceCookie } from "@/lib/auth/recognized-clients";
import { defineForm } from "@/lib/platform/http/pages/form";
import { continuingTo } from "@/lib/platform/http/pages/redirect-paths";
import { readReturnCookie } from "@/lib/platform/http/pages/return-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/reset", {
  summary: "Set a new password",
  page: "/reset",
  body: ConfirmReset.extend({ token: EmailedToken }),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid. Request a new one" } },
  handle: async ({ ctx, body, request, caller }) => {
    const identities = await confirmReset(ctx, body, caller);
    const linked = [...new Set(identities.map(({ provider }) => provider))].join(",");
    const next = readReturnCookie(ctx.config, request.headers.get("cookie"));
    const to = continuingTo(next, `/sign-in?done=password_reset${linked && `&linked=${linked}`}`);
    return { to, cookies: [setDeviceCookie(ctx, caller.deviceId)] };
  },
});

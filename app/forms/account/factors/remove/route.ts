import { z } from "zod";
import { removeTotp } from "@/lib/auth/second-factor/change-factors";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearShownCodesCookie } from "@/lib/platform/http/pages/recovery-codes-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/factors/remove", {
  summary: "Remove the authenticator app",
  page: "/account/factors/remove",
  session: true,
  body: z.object({}),
  errorPlacement: { not_found: { message: "Your account has no authenticator app" } },
  handle: async ({ ctx, principal, caller }) => {
    await removeTotp(ctx, principal, {}, caller);
    return { to: "/account?done=totp_removed", cookies: [clearShownCodesCookie(ctx)] };
  },
});

import { z } from "zod";
import { confirmEmailChange } from "@/lib/accounts/email-change/confirm";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearLinkCookie } from "@/lib/platform/http/pages/link-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/email-change", {
  summary: "Confirm a change of the email",
  page: "/email-change",
  session: true,
  body: z.object({ token: EmailedToken }),
  errorPlacement: {
    invalid_or_expired_token: { message: "This link is no longer valid, or belongs to another account" },
  },
  handle: async ({ ctx, body, principal, caller }) => {
    await confirmEmailChange(ctx, principal, body.token, caller);
    const opened = clearLinkCookie(ctx.config, ctx.now(), "emailChange");
    return { to: "/account?done=email_changed", cookies: [opened] };
  },
});

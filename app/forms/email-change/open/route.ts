import { z } from "zod";
import { requireEmailChange } from "@/lib/accounts/email-change/confirm";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";
import { setLinkCookie } from "@/lib/platform/http/pages/link-cookie";

/** As long as its owner may take to sign in. */
const TTL_SECONDS = 60 * 60;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/email-change/open", {
  summary: "Open the link to a new email while signed out",
  page: "/email-change",
  body: z.object({ token: EmailedToken }),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
  handle: async ({ ctx, body: { token }, caller }) => {
    await requireEmailChange(ctx, token, caller);
    const link = { token, ttlSeconds: TTL_SECONDS };
    return { to: "/email-change", cookies: [await setLinkCookie(ctx.config, ctx.now(), "emailChange", link)] };
  },
});

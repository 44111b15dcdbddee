import { z } from "zod";
import { LINK_TTL_SECONDS, requireFirstOperatorLink } from "@/lib/accounts/first-operator/links";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";
import { setLinkCookie } from "@/lib/platform/http/pages/link-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/first-operator/open", {
  summary: "Open the link for the first operator",
  page: "/first-operator",
  body: z.object({ token: EmailedToken }),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
  handle: async ({ ctx, body: { token } }) => {
    await requireFirstOperatorLink(ctx, token);
    const link = { token, ttlSeconds: LINK_TTL_SECONDS };
    return { to: "/first-operator", cookies: [await setLinkCookie(ctx.config, ctx.now(), "firstOperator", link)] };
  },
});

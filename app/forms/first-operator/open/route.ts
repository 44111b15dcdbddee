import { z } from "zod";
import { setFirstOperatorLinkCookie } from "@/lib/accounts/first-operator/link-cookie";
import { requireFirstOperatorLink } from "@/lib/accounts/first-operator/links";
import { EmailedToken } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/first-operator/open", {
  summary: "Open the link for the first operator",
  page: "/first-operator",
  body: z.object({ token: EmailedToken }),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
  handle: async ({ ctx, body: { token } }) => {
    await requireFirstOperatorLink(ctx, token);
    return { to: "/first-operator", cookies: [await setFirstOperatorLinkCookie(ctx.config, ctx.now(), token)] };
  },
});

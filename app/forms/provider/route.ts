import { z } from "zod";
import { startProvider } from "@/lib/auth/sign-in-providers";
import { defineForm } from "@/lib/http/pages/form";
import { NextPage, ownPath } from "@/lib/http/pages/own-path";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/provider", {
  summary: "Go to a provider to sign in there",
  page: "/sign-in",
  fields: z.object({ provider: z.string() }).and(NextPage),
  keep: ["callbackUrl"],
  handle: async ({ ctx, fields, caller }) => {
    const to = ownPath(fields.callbackUrl, ctx.config.baseUrl, "/account");
    const { headers, cookies } = await startProvider(ctx, fields.provider, to, caller);
    return { to: headers.Location ?? "/sign-in?error=OAuthSignin", cookies };
  },
});

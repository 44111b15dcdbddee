import { z } from "zod";
import { startProvider } from "@/lib/auth/next-auth/from-pages";
import { defineForm } from "@/lib/http/pages/form";
import { NextPage, ownPath } from "@/lib/http/pages/own-path";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/provider", {
  summary: "Sign in with a provider, or add it to the account",
  page: "/sign-in",
  fields: z.object({ provider: z.string() }).and(NextPage),
  keep: ["callbackUrl"],
  handle: async ({ ctx, fields, headers, caller }) => {
    const callbackUrl = ownPath(fields.callbackUrl, ctx.config.baseUrl, "/account");
    const answer = await startProvider(ctx, fields.provider, { headers, caller, callbackUrl });
    return { to: answer.headers.Location ?? "/sign-in?error=OAuthSignin", cookies: answer.cookies };
  },
});

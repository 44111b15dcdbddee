import { z } from "zod";
import { startProvider } from "@/lib/auth/next-auth/from-pages";
import { defineForm } from "@/lib/http/pages/form";
import { NextPage, ownPath } from "@/lib/http/pages/own-path";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/provider", {
  summary: "Sign in with a provider, or add it to the account",
  page: "/sign-in",
  body: z.object({ provider: z.string() }).and(NextPage),
  keptFields: ["callbackUrl"],
  handle: async ({ ctx, body, request, caller }) => {
    const callbackUrl = ownPath(body.callbackUrl, ctx.config.baseUrl, "/account");
    const answer = await startProvider(ctx, body.provider, { headers: request.headers, caller, callbackUrl });
    return { to: answer.headers.Location ?? "/sign-in?error=OAuthSignin", cookies: answer.cookies };
  },
});

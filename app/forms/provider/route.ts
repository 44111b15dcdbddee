import { z } from "zod";
import { startProvider } from "@/lib/auth/next-auth/call-from-forms";
import { cookiesOf } from "@/lib/auth/next-auth/run";
import { defineForm } from "@/lib/platform/http/pages/form";
import { NextPage, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/provider", {
  summary: "Sign in with a provider, or add it to the account",
  page: "/sign-in",
  body: z.object({ provider: z.string() }).and(NextPage),
  keptFields: ["callbackUrl"],
  handle: async ({ ctx, body, request, caller }) => {
    const callbackUrl = trustedUrl(body.callbackUrl, ctx.config, "/account");
    const response = await startProvider(ctx, body.provider, { headers: request.headers, caller, callbackUrl });
    return { to: String(response.headers.Location ?? "/sign-in?error=OAuthSignin"), cookies: cookiesOf(response) };
  },
});

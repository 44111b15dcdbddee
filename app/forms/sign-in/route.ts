import { Login } from "@/lib/accounts/schema";
import { signIn } from "@/lib/accounts/sign-in";
import { secondFactorPage, setChallengeCookie } from "@/lib/auth/second-factor/challenges";
import { replaceSession } from "@/lib/auth/sessions/session-response";
import { defineForm } from "@/lib/platform/http/pages/form";
import { NextPage, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/sign-in", {
  summary: "Sign in",
  page: "/sign-in",
  body: Login.and(NextPage),
  keptFields: ["email", "callbackUrl"],
  errorPlacement: {
    invalid_credentials: { field: "password" },
    email_not_verified: { message: "Verify your email first. We have sent you a link" },
  },
  handle: async ({ ctx, body, request, caller }) => {
    const outcome = await signIn(ctx, body, "cookie", caller);
    const to = trustedUrl(body.callbackUrl, ctx.config, "/account");
    if ("challenge" in outcome) {
      return { to: secondFactorPage({ callbackUrl: to }), cookies: [setChallengeCookie(ctx.config, outcome)] };
    }
    return { to, cookies: await replaceSession(ctx, request.headers, outcome) };
  },
});

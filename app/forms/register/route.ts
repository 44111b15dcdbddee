import { register } from "@/lib/accounts/register";
import { Register } from "@/lib/accounts/schema";
import { replaceSession } from "@/lib/auth/sessions/session-response";
import { redirectWithEmail } from "@/lib/platform/http/pages/flash";
import { defineForm } from "@/lib/platform/http/pages/form";
import { NextPage, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { setReturnCookie } from "@/lib/platform/http/pages/return-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/register", {
  summary: "Create an account",
  page: "/register",
  body: Register.and(NextPage),
  keptFields: ["name", "email", "callbackUrl"],
  errorPlacement: { email_taken: { field: "email" } },
  handle: async ({ ctx, body, request, caller }) => {
    const registered = await register(ctx, body, "cookie", caller);
    const next = trustedUrl(body.callbackUrl, ctx.config, "/account");
    if (!registered) {
      const { to, cookies } = redirectWithEmail(ctx.config, "/verify?registered=", body.email);
      return { to, cookies: body.callbackUrl ? [...cookies, setReturnCookie(ctx.config, next)] : cookies };
    }
    return { to: next, cookies: await replaceSession(ctx, request.headers, registered) };
  },
});

import { Login } from "@/lib/accounts/schema";
import { logIn } from "@/lib/accounts/sign-in";
import { setSessionCookie } from "@/lib/auth/cookie";
import { defineForm } from "@/lib/http/pages/form";
import { NextPage, ownPath } from "@/lib/http/pages/own-path";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/sign-in", {
  summary: "Sign in",
  page: "/sign-in",
  fields: Login.and(NextPage),
  keep: ["email", "callbackUrl"],
  places: { invalid_credentials: { field: "password" } },
  handle: async ({ ctx, fields, caller }) => {
    const { token, session } = await logIn(ctx, fields, "cookie", caller);
    const to = ownPath(fields.callbackUrl, ctx.config.baseUrl, "/account");
    return { to, cookies: [setSessionCookie(ctx.config, token, session.expiresAt)] };
  },
});

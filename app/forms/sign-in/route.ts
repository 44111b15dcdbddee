import { Login } from "@/lib/accounts/schema";
import { logIn } from "@/lib/accounts/sign-in";
import { setSessionCookie } from "@/lib/auth/cookie";
import { revokeSession } from "@/lib/auth/sessions";
import { defineForm } from "@/lib/http/pages/form";
import { NextPage, ownPath } from "@/lib/http/pages/own-path";
import { findVisitor } from "@/lib/http/pages/visitor";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/sign-in", {
  summary: "Sign in",
  page: "/sign-in",
  fields: Login.and(NextPage),
  keep: ["email", "callbackUrl"],
  places: {
    invalid_credentials: { field: "password" },
    email_not_verified: { words: "Confirm your address first: a mail is on its way" },
  },
  handle: async ({ ctx, fields, headers, caller }) => {
    const replaced = await findVisitor(headers); // OWASP ASVS 5.0, 7.2.4
    const { token, session } = await logIn(ctx, fields, "cookie", caller);
    if (replaced) await revokeSession(ctx, replaced.session.id);
    const to = ownPath(fields.callbackUrl, ctx.config.baseUrl, "/account");
    return { to, cookies: [setSessionCookie(ctx.config, token, session.expiresAt)] };
  },
});

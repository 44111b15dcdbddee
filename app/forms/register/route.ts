import { Register } from "@/lib/accounts/schema";
import { register } from "@/lib/accounts/sign-in";
import { setSessionCookie } from "@/lib/auth/cookie";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/register", {
  summary: "Make an account",
  page: "/register",
  fields: Register,
  keep: ["name", "email"],
  places: { email_taken: { field: "email" } },
  handle: async ({ ctx, fields, caller }) => {
    const made = await register(ctx, fields, "cookie", caller);
    if (!made) return { to: "/verify" };
    return { to: "/account", cookies: [setSessionCookie(ctx.config, made.token, made.session.expiresAt)] };
  },
});

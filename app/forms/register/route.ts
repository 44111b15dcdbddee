import { register } from "@/lib/accounts/register";
import { Register } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/http/pages/form";
import { replaceSession } from "@/lib/http/session-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/register", {
  summary: "Create an account",
  page: "/register",
  fields: Register,
  keep: ["name", "email"],
  places: { email_taken: { field: "email" } },
  handle: async ({ ctx, fields, headers, caller }) => {
    const made = await register(ctx, fields, "cookie", caller);
    if (!made) return { to: "/verify" };
    return { to: "/account", cookies: await replaceSession(ctx, headers, made) };
  },
});

import { register } from "@/lib/accounts/register";
import { Register } from "@/lib/accounts/schema";
import { redirectWithEmail } from "@/lib/http/pages/flash";
import { defineForm } from "@/lib/http/pages/form";
import { replaceSession } from "@/lib/http/session-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/register", {
  summary: "Create an account",
  page: "/register",
  body: Register,
  keptFields: ["name", "email"],
  errorPlacement: { email_taken: { field: "email" } },
  handle: async ({ ctx, body, request, caller }) => {
    const registered = await register(ctx, body, "cookie", caller);
    if (!registered) return redirectWithEmail(ctx.config, "/verify?registered=", body.email);
    return { to: "/account", cookies: await replaceSession(ctx, request.headers, registered) };
  },
});

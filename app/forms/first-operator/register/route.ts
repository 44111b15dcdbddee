import { registerFirstOperator } from "@/lib/accounts/first-operator/become-operator";
import { Register } from "@/lib/accounts/schema";
import { replaceSession } from "@/lib/auth/sessions/session-response";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearLinkCookie, readLinkCookie } from "@/lib/platform/http/pages/link-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/first-operator/register", {
  summary: "Create the account of the first operator",
  page: "/first-operator",
  body: Register,
  keptFields: ["name", "email"],
  errorPlacement: {
    email_taken: { field: "email", message: "An account with this email already exists. Sign in instead" },
    invalid_or_expired_token: { message: "This link is no longer valid" },
  },
  handle: async ({ ctx, body, request, caller }) => {
    const token = (await readLinkCookie(ctx.config, "firstOperator", request.headers.get("cookie"))) ?? "";
    const created = await registerFirstOperator(ctx, token, body, caller);
    const forgotten = clearLinkCookie(ctx.config, ctx.now(), "firstOperator");
    return { to: "/console", cookies: [...(await replaceSession(ctx, request.headers, created)), forgotten] };
  },
});

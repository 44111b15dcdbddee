import { z } from "zod";
import { becomeFirstOperator } from "@/lib/accounts/first-operator/become-operator";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearLinkCookie, readLinkCookie } from "@/lib/platform/http/pages/link-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/first-operator", {
  summary: "Become the first operator",
  page: "/first-operator",
  session: true,
  body: z.object({}),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
  handle: async ({ ctx, principal, request, caller }) => {
    const token = (await readLinkCookie(ctx.config, "firstOperator", request.headers.get("cookie"))) ?? "";
    await becomeFirstOperator(ctx, { token, accountId: principal.account.id }, caller);
    return { to: "/console", cookies: [clearLinkCookie(ctx.config, ctx.now(), "firstOperator")] };
  },
});

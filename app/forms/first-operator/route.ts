import { z } from "zod";
import { becomeFirstOperator } from "@/lib/accounts/first-operator/become-operator";
import { clearFirstOperatorLinkCookie, readFirstOperatorLinkCookie } from "@/lib/http/pages/first-operator-cookie";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/first-operator", {
  summary: "Become the first operator",
  page: "/first-operator",
  auth: "account",
  body: z.object({}),
  errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
  handle: async ({ ctx, principal, request, caller }) => {
    const token = (await readFirstOperatorLinkCookie(ctx.config, request.headers.get("cookie"))) ?? "";
    await becomeFirstOperator(ctx, { token, accountId: principal.account.id }, caller);
    return { to: "/console", cookies: [clearFirstOperatorLinkCookie(ctx.config, ctx.now())] };
  },
});

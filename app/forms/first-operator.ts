import { z } from "zod";
import {
  becomeFirstOperator,
  LINK_TTL_SECONDS,
  registerFirstOperator,
  requireFirstOperatorLink,
} from "@/lib/accounts/first-operator";
import { EmailedToken, Register } from "@/lib/accounts/schema";
import { replaceSession } from "@/lib/auth/sessions/session-response";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearLinkCookie, readLinkCookie, setLinkCookie } from "@/lib/platform/http/pages/page-cookies";

export const firstOperatorForms = [
  defineForm("/forms/first-operator", {
    summary: "Become the first operator",
    page: "/first-operator",
    session: true,
    errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
    handle: async ({ ctx, principal, request, caller }) => {
      const token = (await readLinkCookie(ctx.config, "firstOperator", request.headers.get("cookie"))) ?? "";
      await becomeFirstOperator(ctx, token, principal.account.id, caller);
      return { to: "/console", cookies: [clearLinkCookie(ctx.config, ctx.now(), "firstOperator")] };
    },
  }),
  defineForm("/forms/first-operator/open", {
    summary: "Open the link for the first operator",
    page: "/first-operator",
    body: z.object({ token: EmailedToken }),
    errorPlacement: { invalid_or_expired_token: { message: "This link is no longer valid" } },
    handle: async ({ ctx, body: { token } }) => {
      await requireFirstOperatorLink(ctx, token);
      const link = { token, ttlSeconds: LINK_TTL_SECONDS };
      return { to: "/first-operator", cookies: [await setLinkCookie(ctx.config, ctx.now(), "firstOperator", link)] };
    },
  }),
  defineForm("/forms/first-operator/register", {
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
  }),
];

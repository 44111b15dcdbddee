import { requestReset } from "@/lib/accounts/password-reset";
import { RequestReset } from "@/lib/accounts/schema";
import { defineForm } from "@/lib/platform/http/pages/form";
import { continuingTo, NextPage, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { setReturnCookie } from "@/lib/platform/http/pages/return-cookie";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/forgot", {
  summary: "Request a password reset link",
  page: "/forgot",
  body: RequestReset.and(NextPage),
  keptFields: ["email", "callbackUrl"],
  handle: async ({ ctx, body, caller }) => {
    await requestReset(ctx, body.email, caller);
    if (!body.callbackUrl) return { to: "/forgot?sent" };
    const next = trustedUrl(body.callbackUrl, ctx.config, "/account");
    return { to: continuingTo(next, "/forgot?sent"), cookies: [setReturnCookie(ctx.config, next)] };
  },
});

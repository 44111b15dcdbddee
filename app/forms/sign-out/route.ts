import { z } from "zod";
import { revokeOwnSession } from "@/lib/accounts/sessions";
import { setSessionCookie } from "@/lib/platform/http/cookies/cookies";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/sign-out", {
  summary: "Sign out",
  page: "/account",
  session: true,
  body: z.object({}),
  handle: async ({ ctx, principal: { account, session }, caller }) => {
    await revokeOwnSession(ctx, account.id, session.id, caller);
    const cookies = [setSessionCookie(ctx.config, null, session.expiresAt)];
    return { to: "/sign-in?done=signed_out", cookies, isSignedOut: true };
  },
});

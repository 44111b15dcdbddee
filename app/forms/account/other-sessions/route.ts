import { z } from "zod";
import { revokeOtherSessions } from "@/lib/accounts/sessions";
import { requireStepUp } from "@/lib/auth/step-up";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/other-sessions", {
  summary: "Sign out all other sessions",
  page: "/account",
  session: true,
  body: z.object({}),
  requiresReauthentication: true,
  canResume: true,
  handle: async ({ ctx, principal, caller }) => {
    await requireStepUp(ctx, principal, {}, caller);
    await revokeOtherSessions(ctx, principal.account.id, principal.session.id, caller);
    return { to: "/account?done=sessions_ended" };
  },
});

import { z } from "zod";
import { revokeOwnSession } from "@/lib/accounts/sessions";
import { requireStepUp } from "@/lib/auth/step-up";
import { defineForm } from "@/lib/platform/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/session", {
  summary: "Sign out one session",
  page: "/account",
  session: true,
  body: z.object({ id: z.string() }),
  errorPlacement: { not_found: { message: "This session has already ended" } },
  requiresReauthentication: true,
  canResume: true,
  handle: async ({ ctx, body, principal, caller }) => {
    await requireStepUp(ctx, principal, {}, caller);
    await revokeOwnSession(ctx, principal.account.id, body.id, caller);
    return { to: "/account?done=session_ended" };
  },
});

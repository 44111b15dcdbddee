import { z } from "zod";
import { revokeOtherSessions } from "@/lib/accounts/sessions";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/other-sessions", {
  summary: "Sign out all other sessions",
  page: "/account",
  auth: "account",
  body: z.object({}),
  handle: async ({ ctx, principal: { account, session }, caller }) => {
    await revokeOtherSessions(ctx, account.id, session.id, caller);
    return { to: "/account?done=sessions_ended" };
  },
});

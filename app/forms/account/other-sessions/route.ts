import { z } from "zod";
import { endOtherSessions } from "@/lib/accounts/sessions";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/other-sessions", {
  summary: "Sign out all other sessions",
  page: "/account",
  auth: "account",
  fields: z.object({}),
  handle: async ({ ctx, visitor: { account, session }, caller }) => {
    await endOtherSessions(ctx, account.id, session.id, caller);
    return { to: "/account?done=sessions_ended" };
  },
});

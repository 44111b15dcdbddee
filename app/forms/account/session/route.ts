import { z } from "zod";
import { endSession } from "@/lib/accounts/sessions";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/session", {
  summary: "End one session",
  page: "/account",
  auth: "account",
  fields: z.object({ id: z.string() }),
  places: { not_found: { words: "This session has ended already" } },
  handle: async ({ ctx, fields, visitor, caller }) => {
    await endSession(ctx, visitor.account.id, fields.id, caller);
    return { to: "/account?done=session_ended" };
  },
});

import { z } from "zod";
import { revokeOwnSession } from "@/lib/accounts/sessions";
import { defineForm } from "@/lib/http/pages/form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/account/session", {
  summary: "Sign out one session",
  page: "/account",
  auth: "account",
  fields: z.object({ id: z.string() }),
  places: { not_found: { message: "This session has already ended" } },
  handle: async ({ ctx, fields, visitor, caller }) => {
    await revokeOwnSession(ctx, visitor.account.id, fields.id, caller);
    return { to: "/account?done=session_ended" };
  },
});

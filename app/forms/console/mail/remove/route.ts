import { z } from "zod";
import { removeEmail } from "@/lib/accounts/emails/change-emails";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/mail/remove", {
  summary: "Remove an email from the queue",
  page: "/console/push/mail",
  body: z.object({ id: z.uuid() }),
  handle: async ({ ctx, body }, operator) => {
    await removeEmail(ctx, operator, body.id);
    return { done: "removed" };
  },
});

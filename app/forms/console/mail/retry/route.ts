import { z } from "zod";
import { retryEmails } from "@/lib/accounts/emails/change-emails";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/mail/retry", {
  summary: "Send the emails that wait",
  page: "/console/push/mail",
  body: z.object({}),
  handle: async ({ ctx }, operator) => {
    await retryEmails(ctx, operator, {});
    return { done: "retried" };
  },
});

import { AccountForm } from "@/lib/accounts/admin/form";
import { revokeAccountSessions } from "@/lib/accounts/admin/revoke-sessions";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/accounts/end-sessions",
  {
    summary: "End every session of an account",
    page: "/console/accounts",
    role: "support",
    body: AccountForm,
    handle: async ({ ctx, body }, operator) => {
      await revokeAccountSessions(ctx, operator, body.accountId, body);
      return { done: "sessions_ended" };
    },
  },
);

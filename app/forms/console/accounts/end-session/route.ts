import { SessionForm } from "@/lib/accounts/admin/form";
import { revokeAccountSession } from "@/lib/accounts/admin/revoke-sessions";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/accounts/end-session",
  {
    summary: "End a session of an account",
    page: "/console/accounts",
    role: "support",
    body: SessionForm,
    handle: async ({ ctx, body }, operator) => {
      await revokeAccountSession(ctx, operator, body, body);
      return { done: "session_ended" };
    },
  },
);

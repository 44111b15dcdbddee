import { AccountForm } from "@/lib/accounts/admin/form";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/accounts/export", {
  summary: "Export the data of an account",
  page: "/console/accounts",
  body: AccountForm,
  handle: async ({ body: { accountId, reason } }) => ({
    to: `/api/admin/accounts/${accountId}/export?${new URLSearchParams({ reason })}`,
  }),
});

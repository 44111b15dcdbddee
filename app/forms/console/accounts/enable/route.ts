import { enableAccount } from "@/lib/accounts/admin/disable-account";
import { AccountForm } from "@/lib/accounts/admin/form";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/accounts/enable", {
  summary: "Enable an account",
  page: "/console/accounts",
  body: AccountForm,
  handle: async ({ ctx, body }, operator) => {
    await enableAccount(ctx, operator, body.accountId, body);
    return { done: "enabled" };
  },
});

import { enableAccount } from "@/lib/admin/accounts/disable-account";
import { AccountForm } from "@/lib/admin/accounts/form";
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

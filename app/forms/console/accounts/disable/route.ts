import { disableAccount } from "@/lib/accounts/admin/disable-account";
import { AccountForm } from "@/lib/accounts/admin/form";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/accounts/disable", {
  summary: "Disable an account",
  page: "/console/accounts",
  body: AccountForm,
  errorPlacement: { last_admin: { message: "This is the only admin. Give another account the role first" } },
  handle: async ({ ctx, body }, operator) => {
    await disableAccount(ctx, operator, body.accountId, body);
    return { done: "disabled" };
  },
});

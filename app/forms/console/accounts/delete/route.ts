import { deleteAccount } from "@/lib/accounts/admin/delete-account";
import { AccountForm } from "@/lib/accounts/admin/form";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/accounts/delete", {
  summary: "Delete an account",
  page: "/console/accounts",
  body: AccountForm,
  errorPlacement: { last_admin: { message: "This is the only admin. Give another account the role first" } },
  handle: async ({ ctx, body }, operator) => {
    await deleteAccount(ctx, operator, body.accountId, body);
    return { to: "/console/accounts", done: "deleted" };
  },
});

import { RoleForm } from "@/lib/accounts/admin/form";
import { setRole } from "@/lib/accounts/admin/set-role";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/accounts/role", {
  summary: "Give an account a role",
  page: "/console/accounts",
  body: RoleForm,
  errorPlacement: { last_admin: { message: "This is the only admin. Give another account the role first" } },
  handle: async ({ ctx, body }, operator) => {
    await setRole(ctx, operator, body.accountId, body);
    return { done: "role_changed" };
  },
});

import { grantRole, RoleGrant } from "@/lib/accounts/operators/grant-role";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/operators/role", {
  summary: "Change an operator's role",
  page: "/console/settings/operators",
  body: RoleGrant,
  keptFields: ["email", "reason"],
  errorPlacement: {
    not_found: { field: "email", message: "No account has this email. Its owner has to register first" },
    last_admin: { message: "This is the only admin. Make another account admin first" },
  },
  handle: async ({ ctx, body }, operator) => {
    await grantRole(ctx, operator, body);
    return { done: body.role === "user" ? "role_removed" : "role_granted" };
  },
});

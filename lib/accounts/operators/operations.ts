import { formOperation } from "../../operation";
import { grantRole, RoleGrant } from "./grant-role";

export const operatorOperations = {
  grantRole: formOperation({
    id: "grantRole",
    summary: "Change an operator's role",
    role: "admin",
    body: RoleGrant,
    run: ({ ctx, operator, body }) => grantRole(ctx, operator, body),
    form: {
      kept: ["email", "reason"],
      errors: {
        not_found: { field: "email", message: "No account has this email. Its owner has to register first" },
        last_admin: { message: "This is the only admin. Make another account admin first" },
      },
      after: (_, { role }) => ({ done: role === "user" ? "role_removed" : "role_granted" }),
    },
  }),
};

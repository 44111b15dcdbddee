import { AccountForm } from "@/lib/accounts/admin/form";
import { resetFactors } from "@/lib/accounts/admin/reset-factors";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/accounts/reset-factors",
  {
    summary: "Remove the second factors of an account",
    page: "/console/accounts",
    body: AccountForm,
    handle: async ({ ctx, body }, operator) => {
      await resetFactors(ctx, operator, body.accountId, body);
      return { done: "factors_reset" };
    },
  },
);

import { ProviderForm } from "@/lib/accounts/admin/form";
import { unlinkProvider } from "@/lib/accounts/admin/unlink-provider";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/accounts/unlink", {
  summary: "Unlink a sign-in provider from an account",
  page: "/console/accounts",
  body: ProviderForm,
  handle: async ({ ctx, body }, operator) => {
    await unlinkProvider(ctx, operator, body.accountId, body);
    return { done: "unlinked" };
  },
});

import { accountOperations } from "@/lib/admin/accounts/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]", {
  GET: accountOperations.showAccount,
  DELETE: accountOperations.deleteAccountAsOperator,
});

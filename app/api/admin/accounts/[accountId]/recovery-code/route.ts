import { accountOperations } from "@/lib/accounts/admin/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/admin/accounts/[accountId]/recovery-code",
  { POST: accountOperations.createAccountRecoveryCode },
);

import { defineRoute } from "@/lib/platform/http/route";
import { accessOperations } from "@/lib/subscriptions/access/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/[accountId]/access", {
  GET: accessOperations.explainAccess,
});

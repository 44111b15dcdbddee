import { importOperations } from "@/lib/accounts/import/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/accounts/import", {
  POST: importOperations.importAccounts,
});

import { defineRoute } from "@/lib/platform/http/route";
import { purchaseImportOperations } from "@/lib/subscriptions/import/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/import", {
  POST: purchaseImportOperations.importPurchases,
});

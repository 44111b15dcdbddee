import { defineRoute } from "@/lib/platform/http/route";
import { billingOperations } from "@/lib/subscriptions/admin/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/reconciliations", {
  POST: billingOperations.reconcilePurchases,
});

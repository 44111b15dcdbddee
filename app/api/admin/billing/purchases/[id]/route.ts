import { billingOperations } from "@/lib/admin/billing/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/purchases/[id]", {
  GET: billingOperations.showPurchaseTimeline,
});

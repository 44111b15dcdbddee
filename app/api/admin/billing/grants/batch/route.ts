import { defineRoute } from "@/lib/platform/http/route";
import { grantOperations } from "@/lib/subscriptions/grants/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/grants/batch", {
  POST: grantOperations.grantEntitlements,
});

import { defineRoute } from "@/lib/platform/http/route";
import { subscriptionOperations } from "@/lib/subscriptions/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/subscription/purchases", {
  GET: subscriptionOperations.listPurchases,
});

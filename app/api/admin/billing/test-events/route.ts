import { defineRoute } from "@/lib/platform/http/route";
import { testEventOperations } from "@/lib/subscriptions/test-events/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/billing/test-events", {
  GET: testEventOperations.listTestEvents,
  POST: testEventOperations.sendTestEvent,
});

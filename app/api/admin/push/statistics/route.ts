import { defineRoute } from "@/lib/platform/http/route";
import { pushOperations } from "@/lib/push/admin/operations";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/statistics", {
  GET: pushOperations.readPushStatistics,
});

import { auditOperations } from "@/lib/platform/audit/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/audit.csv", {
  GET: auditOperations.downloadAuditEvents,
});

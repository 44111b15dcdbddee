import { auditOperations } from "@/lib/audit/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/audit.csv", {
  GET: auditOperations.downloadAuditEvents,
});

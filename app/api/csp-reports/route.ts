import { cspReportOperations } from "@/lib/platform/http/csp-reports";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/csp-reports", {
  POST: cspReportOperations.reportCspViolation,
});

import { auditCsv } from "@/lib/admin/audit/csv";
import { AuditFilter } from "@/lib/admin/audit/schema";
import { withReadDb } from "@/lib/context";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/audit.csv", {
  GET: endpoint({
    summary: "Download the audit trail as CSV",
    auth: { role: "admin", scope: "audit:read" },
    query: AuditFilter,
    writes: "raw",
    responses: { 200: null },
    handle: ({ ctx, query }) =>
      new RouteResponse(200, auditCsv(withReadDb(ctx), query), {
        "Content-Type": "text/csv; charset=utf-8; header=present",
        "Content-Disposition": `attachment; filename="audit-${ctx.now().toISOString().slice(0, 10)}.csv"`,
      }),
  }),
});

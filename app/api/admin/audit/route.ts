import { listAuditEvents } from "@/lib/admin/audit/list-events";
import { AuditPage, AuditQuery } from "@/lib/admin/audit/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/audit", {
  GET: endpoint({
    summary: "List the audit trail",
    auth: { role: "admin", scope: "audit:read" },
    query: AuditQuery,
    responses: { 200: AuditPage },
    handle: ({ ctx, query }) => listAuditEvents(ctx, query),
  }),
});

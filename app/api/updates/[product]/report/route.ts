import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { ReportParams, reportUpdate, UpdateReport } from "@/lib/releases/rollouts/receive-update-report";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/updates/[product]/report", {
  POST: endpoint({
    summary: "Report how an update went",
    database: false,
    params: ReportParams,
    body: UpdateReport,
    limit: "updateReportByIp",
    errors: ["release_not_found", "catalog_unavailable"],
    responses: { 204: null },
    handle: ({ ctx, params, body }) => reportUpdate(ctx, params.product, body),
  }),
});

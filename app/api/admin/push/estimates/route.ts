import { estimateAnnouncement, estimateAudience } from "@/lib/admin/push/estimate";
import { AudienceEstimateInput, Estimate, EstimateQuery } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/estimates", {
  GET: endpoint({
    summary: "Estimate an announcement",
    auth: { role: "support", scope: "push:read" },
    query: EstimateQuery,
    errors: ["validation_failed"],
    responses: { 200: Estimate },
    handle: ({ ctx, query }) => estimateAnnouncement(ctx, query),
  }),
  POST: endpoint({
    summary: "Estimate an audience",
    auth: { role: "support", scope: "push:read" },
    body: AudienceEstimateInput,
    responses: { 200: Estimate },
    handle: ({ ctx, body }) => estimateAudience(ctx, body),
  }),
});

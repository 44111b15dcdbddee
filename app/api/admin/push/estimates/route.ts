import { withWarnings } from "@/lib/admin/push/announcement-warnings";
import { estimateAnnouncement, estimateAudience } from "@/lib/admin/push/estimate";
import { AudienceEstimateInput, EstimateQuery, EstimateWithWarnings } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/estimates", {
  GET: endpoint({
    summary: "Estimate an announcement",
    auth: { role: "support", scope: "push:read" },
    query: EstimateQuery,
    errors: ["validation_failed"],
    responses: { 200: EstimateWithWarnings },
    handle: async ({ ctx, query }) => withWarnings(ctx, query, await estimateAnnouncement(ctx, query)),
  }),
  POST: endpoint({
    summary: "Estimate an audience",
    auth: { role: "support", scope: "push:read" },
    body: AudienceEstimateInput,
    responses: { 200: EstimateWithWarnings },
    handle: async ({ ctx, body }) => withWarnings(ctx, body, await estimateAudience(ctx, body)),
  }),
});

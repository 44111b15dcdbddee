import { Statistics, StatisticsQuery } from "@/lib/admin/push/schema";
import { readStatistics } from "@/lib/admin/push/statistics";
import { withReadDb } from "@/lib/context";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/push/statistics", {
  GET: endpoint({
    summary: "Count notifications by outcome",
    auth: { role: "support", scope: "push:read" },
    query: StatisticsQuery,
    responses: { 200: Statistics },
    handle: ({ ctx, query }) => readStatistics(withReadDb(ctx), query),
  }),
});

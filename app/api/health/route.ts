import { endpoint } from "@/lib/http/endpoint";
import { checkHealth, Health, HealthQuery } from "@/lib/http/health";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/health", {
  GET: endpoint({
    summary: "Check the service's health",
    database: false,
    query: HealthQuery,
    responses: { 200: Health, 503: Health },
    handle: async ({ ctx, query }) => {
      const health = await checkHealth(ctx, query);
      return new RouteResponse(health.status === "ok" ? 200 : 503, health, { "Cache-Control": "no-store" });
    },
  }),
});

import { checkHealth, Health, HealthQuery } from "@/lib/http/health";
import { reply } from "@/lib/http/reply";
import { defineRoute, endpoint } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/health", {
  GET: endpoint({
    summary: "Whether the service is up",
    database: false,
    query: HealthQuery,
    responses: { 200: Health, 503: Health },
    handle: async ({ ctx, query }) => {
      const health = await checkHealth(ctx, query);
      return reply(health.status === "ok" ? 200 : 503, health, { "Cache-Control": "no-store" });
    },
  }),
});

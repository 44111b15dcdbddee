import { operation } from "../../operation";
import { RouteResponse } from "../http-message";
import { checkHealth, Health, HealthQuery } from "./health";

export const healthOperations = {
  checkHealth: operation({
    id: "checkHealth",
    summary: "Check the service's health",
    description:
      "`ready`, the default, checks the database, at most once per second, and the release catalog. `live` checks only that the process runs; use it to decide on restarts.",
    database: false,
    query: HealthQuery,
    response: {
      description: "The service is healthy.",
      schema: Health,
      examples: {
        Ready: { status: "ok", checks: { database: "ok", storage: "ok", catalog: "ok" } },
        Alive: { status: "ok" },
      },
    },
    otherResponses: {
      503: {
        description: "The service cannot take requests: a check failed, or it is shutting down.",
        schema: Health,
        examples: {
          "No database": { status: "error", checks: { database: "error", storage: "ok", catalog: "ok" } },
          "Shutting down": { status: "draining" },
        },
      },
    },
    run: async ({ ctx, query }) => {
      const health = await checkHealth(ctx, query);
      return new RouteResponse(health.status === "ok" ? 200 : 503, health, { "Cache-Control": "no-store" });
    },
  }),
};

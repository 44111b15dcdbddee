import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "checkHealth",
  description:
    "`ready`, the default, checks the database, at most once per second, and the release catalog. `live` checks only that the process runs; use it to decide on restarts.",
  responses: {
    200: {
      description: "The service is healthy.",
      examples: {
        Ready: { status: "ok", checks: { database: "ok", storage: "ok", catalog: "ok" } },
        Alive: { status: "ok" },
      },
    },
    503: {
      description: "The service cannot take requests: a check failed, or it is shutting down.",
      examples: {
        "No database": { status: "error", checks: { database: "error", storage: "ok", catalog: "ok" } },
        "Shutting down": { status: "draining" },
      },
    },
  },
};

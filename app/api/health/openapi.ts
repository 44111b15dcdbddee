import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "checkHealth",
  description:
    "`ready`, the default, asks the database (at most once a second) and the release catalog. `live` asks nothing: use it to decide on restarts.",
  responses: {
    200: {
      description: "It can do its work.",
      examples: {
        Ready: { status: "ok", checks: { database: "ok", storage: "ok", catalog: "ok" } },
        Alive: { status: "ok" },
      },
    },
    503: {
      description: "Send nothing more here: something it needs is missing, or it is shutting down.",
      examples: {
        "No database": { status: "error", checks: { database: "error", storage: "ok", catalog: "ok" } },
        "Shutting down": { status: "draining" },
      },
    },
  },
};

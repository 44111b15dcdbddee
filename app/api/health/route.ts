import { healthOperations } from "@/lib/http/health-operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/health", {
  GET: healthOperations.checkHealth,
});

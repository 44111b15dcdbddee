import { healthOperations } from "@/lib/platform/http/health";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/health", {
  GET: healthOperations.checkHealth,
});

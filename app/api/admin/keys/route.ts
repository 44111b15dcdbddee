import { keyOperations } from "@/lib/admin/keys/operations";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/keys", {
  GET: keyOperations.listApiKeys,
  POST: keyOperations.createApiKey,
});

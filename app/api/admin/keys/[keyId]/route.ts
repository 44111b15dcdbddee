import { keyOperations } from "@/lib/auth/api-keys/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/keys/[keyId]", {
  DELETE: keyOperations.revokeApiKey,
});

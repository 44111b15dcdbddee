import { oauthOperations } from "@/lib/auth/authorization-server/operations";
import { defineRoute } from "@/lib/platform/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/oauth/device", {
  POST: oauthOperations.startDeviceAuthorization,
});

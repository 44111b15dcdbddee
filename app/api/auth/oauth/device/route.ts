import { startDeviceAuthorization } from "@/lib/auth/oauth-server/device-codes";
import { DeviceAuthorization, DeviceAuthorizationRequest, OAuthError } from "@/lib/auth/oauth-server/schema";
import { endpoint } from "@/lib/http/endpoint";
import { writeOAuthError } from "@/lib/http/oauth-error";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/oauth/device", {
  POST: endpoint({
    summary: "Start the sign-in of a device without a browser",
    reads: "form",
    body: DeviceAuthorizationRequest,
    limit: "deviceAuthorizationByIp",
    responses: { 200: DeviceAuthorization, 400: OAuthError },
    handle: ({ ctx, body, caller }) => startDeviceAuthorization(ctx, body.client_id, caller),
    writeError: writeOAuthError,
  }),
});

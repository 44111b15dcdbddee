import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";
import { registerDevice } from "@/lib/push/registration/register-device";
import { PendingDevice, RegisteredDevice, RegisterPush } from "@/lib/push/schema";
import { registerBrowser } from "@/lib/push/web/register-browser";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/push/register", {
  POST: endpoint({
    summary: "Register an iOS device or a browser for push",
    auth: "account",
    body: RegisterPush,
    maxBodyBytes: 32 * 1024,
    errors: [
      ...(["challenge_expired", "challenge_used", "device_limit_reached"] as const),
      ...(["evidence_invalid", "push_not_configured", "rate_limited"] as const),
    ],
    responses: { 200: RegisteredDevice, 202: PendingDevice },
    handle: async ({ ctx, principal, body, caller }) => {
      if (body.platform === "web") return { device: await registerBrowser(ctx, principal, body, caller) };
      const registered = await registerDevice(ctx, principal, body, caller);
      return new RouteResponse(registered.challenge ? 202 : 200, registered);
    },
  }),
});

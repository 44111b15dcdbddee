import { operatorOf } from "@/lib/admin/operator";
import { sendTestEvent } from "@/lib/admin/webhooks/replay";
import { EndpointParams, SentEvent } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/webhooks/[endpointId]/test", {
  POST: endpoint({
    summary: "Send a test event to a webhook endpoint",
    auth: { role: "admin", stepUp: true, scope: "webhooks:write" },
    idempotency: "replay",
    params: EndpointParams,
    errors: ["not_found", "webhook_disabled"],
    responses: { 202: SentEvent },
    handle: ({ ctx, principal, params, caller }) =>
      sendTestEvent(ctx, operatorOf(principal, caller), params.endpointId),
  }),
});

import { operatorOf } from "@/lib/admin/operator";
import { replayDeliveries } from "@/lib/admin/webhooks/replay";
import { EndpointParams, Replay, Replayed } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/webhooks/[endpointId]/replay", {
  POST: endpoint({
    summary: "Replay the events since a time",
    auth: { role: "admin", stepUp: true, scope: "webhooks:write" },
    idempotency: "replay",
    params: EndpointParams,
    body: Replay,
    errors: ["not_found", "webhook_disabled"],
    responses: { 202: Replayed },
    handle: ({ ctx, principal, params, body, caller }) =>
      replayDeliveries(ctx, operatorOf(principal, caller), params.endpointId, body),
  }),
});

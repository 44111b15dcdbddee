import { operatorOf } from "@/lib/admin/operator";
import { rotateSecret } from "@/lib/admin/webhooks/endpoints";
import { EndpointParams, EndpointWithSecret } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/webhooks/[endpointId]/secret", {
  POST: endpoint({
    summary: "Rotate the secret of a webhook endpoint",
    auth: { role: "admin", stepUp: true, scope: "webhooks:write" },
    idempotency: "refuse",
    params: EndpointParams,
    errors: ["not_found", "idempotency_key_used"],
    responses: { 200: EndpointWithSecret },
    handle: ({ ctx, principal, params, caller }) => rotateSecret(ctx, operatorOf(principal, caller), params.endpointId),
  }),
});

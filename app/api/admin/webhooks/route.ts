import { operatorOf } from "@/lib/admin/operator";
import { createEndpoint, listEndpoints } from "@/lib/admin/webhooks/endpoints";
import { Endpoints, EndpointWithSecret, NewEndpoint } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/webhooks", {
  GET: endpoint({
    summary: "List the webhook endpoints",
    auth: { role: "support", scope: "webhooks:read" },
    responses: { 200: Endpoints },
    handle: ({ ctx }) => listEndpoints(ctx),
  }),
  POST: endpoint({
    summary: "Create a webhook endpoint",
    auth: { role: "admin", stepUp: true, scope: "webhooks:write" },
    idempotency: "refuse",
    body: NewEndpoint,
    errors: ["idempotency_key_used", "webhook_limit_reached"],
    responses: { 201: EndpointWithSecret },
    handle: ({ ctx, principal, body, caller }) => createEndpoint(ctx, operatorOf(principal, caller), body),
  }),
});

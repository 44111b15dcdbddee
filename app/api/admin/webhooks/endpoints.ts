import { ifMatch, withState } from "@/app/api/admin/if-match";
import { operatorOf } from "@/lib/admin/operator";
import { changeEndpoint, deleteEndpoint, endpointState, findEndpoint } from "@/lib/admin/webhooks/endpoints";
import { ChangedEndpoint, Endpoint, EndpointParams } from "@/lib/admin/webhooks/schema";
import { endpoint } from "@/lib/http/endpoint";
import { RouteResponse } from "@/lib/http/route-response";

const common = { params: EndpointParams, errors: ["not_found"] } as const;
const write = {
  ...common,
  auth: { role: "admin", stepUp: true, scope: "webhooks:write" },
  idempotency: "replay",
} as const;

export const getOne = endpoint({
  ...common,
  summary: "Get a webhook endpoint",
  auth: { role: "support", scope: "webhooks:read" },
  responses: { 200: Endpoint },
  handle: async ({ ctx, params }) => {
    const found = await findEndpoint(ctx, params.endpointId);
    return withState(found, endpointState(found));
  },
});

export const changeOne = endpoint({
  ...write,
  summary: "Change a webhook endpoint",
  body: ChangedEndpoint,
  errors: [...common.errors, "precondition_failed"],
  responses: { 200: Endpoint },
  handle: ({ ctx, principal, params, body, caller, request }) =>
    changeEndpoint(ctx, operatorOf(principal, caller), params.endpointId, body, ifMatch(request)),
});

export const deleteOne = endpoint({
  ...write,
  summary: "Delete a webhook endpoint",
  responses: { 204: null },
  handle: async ({ ctx, principal, params, caller }) => {
    await deleteEndpoint(ctx, operatorOf(principal, caller), params.endpointId);
    return new RouteResponse(204, null);
  },
});

import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";
import { JsonWebKeySet, publishedKeys } from "@/lib/keys/signing-keys";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/jwks.json", {
  GET: endpoint({
    summary: "List the public keys of entitlement tokens",
    responses: { 200: JsonWebKeySet },
    handle: async ({ ctx }) =>
      new RouteResponse(200, await publishedKeys(ctx), { "Cache-Control": "public, max-age=3600" }),
  }),
});

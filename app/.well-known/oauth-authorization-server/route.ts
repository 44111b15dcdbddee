import { serverMetadata } from "@/lib/auth/oauth-server/metadata";
import { ServerMetadata } from "@/lib/auth/oauth-server/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/oauth-authorization-server", {
  GET: endpoint({
    summary: "Describe the authorization server",
    database: false,
    responses: { 200: ServerMetadata },
    handle: ({ ctx }) =>
      new RouteResponse(200, serverMetadata(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),
});

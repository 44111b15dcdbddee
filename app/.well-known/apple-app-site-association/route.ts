import { appleAppSiteAssociation } from "@/lib/auth/passkeys/app-associations";
import { AppleAppSiteAssociation } from "@/lib/auth/passkeys/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/apple-app-site-association", {
  GET: endpoint({
    summary: "List the Apple apps that may use the passkeys",
    database: false,
    errors: ["not_found"],
    responses: { 200: AppleAppSiteAssociation },
    handle: ({ ctx }) =>
      new RouteResponse(200, appleAppSiteAssociation(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),
});

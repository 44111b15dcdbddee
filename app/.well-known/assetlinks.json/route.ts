import { digitalAssetLinks } from "@/lib/auth/passkeys/app-associations";
import { DigitalAssetLinks } from "@/lib/auth/passkeys/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/assetlinks.json", {
  GET: endpoint({
    summary: "List the Android apps that may use the passkeys",
    database: false,
    errors: ["not_found"],
    responses: { 200: DigitalAssetLinks },
    handle: ({ ctx }) =>
      new RouteResponse(200, digitalAssetLinks(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),
});

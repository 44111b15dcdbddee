import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/.well-known/change-password", {
  GET: endpoint({
    summary: "Redirect to the page that changes the password",
    database: false,
    writes: "raw",
    responses: { 302: null },
    handle: () => new RouteResponse(302, null, { Location: "/account/password", "Content-Length": "0" }),
  }),
});

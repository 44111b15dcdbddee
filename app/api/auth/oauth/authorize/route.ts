import {
  AuthorizationParameters,
  authorizationPage,
  checkAuthorizationRequest,
} from "@/lib/auth/oauth-server/authorization-request";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/oauth/authorize", {
  GET: endpoint({
    summary: "Ask the user to sign in to an app",
    database: false,
    query: AuthorizationParameters,
    errors: ["invalid_client", "invalid_redirect_uri"],
    writes: "raw",
    responses: { 303: null },
    handle: ({ ctx, query }) => {
      const { errorRedirectUrl } = checkAuthorizationRequest(ctx.config, query);
      const location = errorRedirectUrl ?? authorizationPage(query);
      return new RouteResponse(303, null, { Location: location, "Content-Length": "0" });
    },
  }),
});

import { OAUTH_ERROR_EXAMPLES, OAUTH_ERRORS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "revokeToken",
  description:
    "Signs an app out (RFC 7009): ends the session of an access token and removes the devices that it registered. An invalid token is not an error.",
  requests: { "Sign out": { token: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0…", client_id: "desktop" } },
  responses: {
    200: { description: "The token is no longer valid." },
    400: { description: OAUTH_ERRORS, examples: OAUTH_ERROR_EXAMPLES },
  },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "authorize",
  description:
    "Open this URL in the user's browser (RFC 8252). The user signs in, if necessary, and allows or refuses the app; then the browser goes to `redirect_uri` with `code` and `state`, or with `error`. PKCE with `S256` is required (RFC 7636). `client_id` and `redirect_uri` must be registered in `OAUTH_CLIENTS`.",
  responses: {
    303: { description: "The page that asks the user, or `redirect_uri` with an error.", headers: ["Location"] },
  },
};

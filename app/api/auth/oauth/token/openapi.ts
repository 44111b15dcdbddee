import { OAUTH_ERROR_EXAMPLES, OAUTH_ERRORS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "exchangeCode",
  description:
    "The token endpoint (RFC 6749, section 3.2). `authorization_code` requires `code`, `redirect_uri` and `code_verifier`; the code works once, within 60 seconds. `urn:ietf:params:oauth:grant-type:device_code` requires `device_code`; ask every `interval` seconds until the user has decided. The access token is the token of a session: send it as `Authorization: Bearer`.",
  requests: {
    "A native app": {
      grant_type: "authorization_code",
      client_id: "desktop",
      code: "jzoOzWmCbBiRaDzPQlFY3ckjaYf1pWJ0LXi9iDjOD8w",
      redirect_uri: "http://127.0.0.1:51004/callback",
      code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    },
    "A device without a browser": {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      client_id: "cli",
      device_code: "Hf4FZ_jLN2Jf3VCwqcxF6sWbRgQmcmXsv53xU1XtBgk",
    },
  },
  responses: {
    200: {
      description: "A new session.",
      examples: {
        "A session": {
          access_token: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0…",
          token_type: "Bearer",
          expires_in: 7776000,
        },
      },
    },
    400: {
      description: `${OAUTH_ERRORS} Of a device: \`authorization_pending\`, \`slow_down\`, \`access_denied\` or \`expired_token\` (RFC 8628, section 3.5).`,
      examples: OAUTH_ERROR_EXAMPLES,
    },
  },
};

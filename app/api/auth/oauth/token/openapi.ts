import { OAUTH_ERROR_EXAMPLES, OAUTH_ERRORS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "exchangeCode",
  description:
    "The token endpoint (RFC 6749, section 3.2). `authorization_code` requires `code`, `redirect_uri` and `code_verifier`; the code works once, within 60 seconds. `urn:ietf:params:oauth:grant-type:device_code` requires `device_code`; ask every `interval` seconds until the user has decided. `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693) requires `subject_token`, the ID token that Apple or Google issued to a native app, `subject_token_type` and `nonce`; it works once, within ten minutes. The access token is the token of a session: send it as `Authorization: Bearer`.",
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
    "Sign in with Apple on the device": {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      client_id: "ios",
      subject_token: "eyJraWQiOiJyczBNM2tPVjlwIiwiYWxnIjoiUlMyNTYifQ…",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      nonce: "iVh3Zc0dZyY1nN0pYQ2k1w",
      name: "Ann Example",
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
        "A session for an ID token": {
          access_token: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0…",
          token_type: "Bearer",
          expires_in: 7776000,
          issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        },
      },
    },
    400: {
      description: `${OAUTH_ERRORS} Of a device: \`authorization_pending\`, \`slow_down\`, \`access_denied\` or \`expired_token\` (RFC 8628, section 3.5). Of an ID token: \`invalid_request\` if it is not valid (RFC 8693, section 2.2.2), \`second_factor_required\` with a \`challenge\` for \`POST /api/auth/login/factor\`, \`account_disabled\`, \`email_not_verified\`, \`identity_unverified\` or \`identity_without_email\`.`,
      examples: {
        ...OAUTH_ERROR_EXAMPLES,
        "An ID token that was used before": {
          error: "invalid_request",
          error_description: "The token was used before",
          error_uri: "https://api.example.com/docs/errors#invalid_id_token",
        },
        "An account with a second factor": {
          error: "second_factor_required",
          error_description: "A second factor is required",
          error_uri: "https://api.example.com/docs/errors#second_factor_required",
          challenge: "0dXJpPk3c0n1xq2Qm8s7vYb5tLwZ4aEfGhJkMnOpQrS",
          expiresAt: "2026-11-20T09:10:00.000Z",
          factors: ["totp", "recovery_code"],
        },
      },
    },
    503: {
      description: "The provider of the ID token does not respond, so its keys are unknown.",
      headers: ["Retry-After"],
      examples: {
        "Apple does not respond": {
          error: "temporarily_unavailable",
          error_description: "The sign-in provider does not respond",
          error_uri: "https://api.example.com/docs/errors#provider_unavailable",
        },
      },
    },
  },
};

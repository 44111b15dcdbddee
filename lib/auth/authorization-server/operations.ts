import type { z } from "zod";
import { operation } from "../../operation";
import type { Config } from "../../platform/config";
import { writeOAuthError } from "../../platform/http/problem";
import { RouteResponse } from "../../platform/http-message";
import { AuthorizationParameters, authorizationPage, checkAuthorizationRequest } from "./authorization-request";
import { startDeviceAuthorization } from "./device-codes";
import {
  AUTHORIZATION_CODE_GRANT,
  DEVICE_CODE_GRANT,
  DeviceAuthorization,
  DeviceAuthorizationRequest,
  OAuthError,
  RevocationRequest,
  ServerMetadata,
  TOKEN_EXCHANGE_GRANT,
  TokenError,
  TokenRequest,
  TokenResponse,
} from "./schema";
import { issueToken, revokeToken } from "./token";

const ACCESS_TOKEN = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0…";
const ISSUED = { access_token: ACCESS_TOKEN, token_type: "Bearer", expires_in: 7776000 };

/** The body of an error. `code` is ours, which the documentation explains. */
function oauthError(error: string, description: string, code = error) {
  return { error, error_description: description, error_uri: `https://api.example.com/docs/errors#${code}` };
}

/** The errors that the endpoints have in common. */
const REFUSAL = {
  description:
    "`error` is `invalid_request`, `invalid_client`, `unauthorized_client`, `invalid_grant` or `unsupported_grant_type` (RFC 6749, section 5.2).",
  schema: OAuthError,
  examples: { "An unknown client": oauthError("invalid_client", "The client is not registered") },
};

export const oauthOperations = {
  getAuthorizationServerMetadata: operation({
    id: "getAuthorizationServerMetadata",
    summary: "Describe the authorization server",
    description: "The endpoints and features of the authorization server (RFC 8414). Client libraries read it.",
    database: false,
    response: {
      description: "The metadata.",
      schema: ServerMetadata,
      examples: { "A service": serverMetadata({ baseUrl: "https://api.example.com" }) },
    },
    run: ({ ctx }) => new RouteResponse(200, serverMetadata(ctx.config), { "Cache-Control": "public, max-age=3600" }),
  }),

  authorize: operation({
    id: "authorize",
    summary: "Ask the user to sign in to an app",
    description:
      "Open this URL in the user's browser (RFC 8252). The user signs in, if necessary, and allows or refuses the app; then the browser goes to `redirect_uri` with `code` and `state`, or with `error`. PKCE with `S256` is required (RFC 7636). `client_id` and `redirect_uri` must be registered in `OAUTH_CLIENTS`.",
    database: false,
    query: AuthorizationParameters,
    errors: ["invalid_client", "invalid_redirect_uri"],
    writes: "raw",
    response: {
      status: 303,
      description: "The page that asks the user, or `redirect_uri` with an error.",
      schema: null,
      headers: ["Location"],
    },
    run: ({ ctx, query }) => {
      const { errorRedirectUrl } = checkAuthorizationRequest(ctx.config, query);
      const location = errorRedirectUrl ?? authorizationPage(query);
      return new RouteResponse(303, null, { Location: location, "Content-Length": "0" });
    },
  }),

  startDeviceAuthorization: operation({
    id: "startDeviceAuthorization",
    summary: "Start the sign-in of a device without a browser",
    description:
      "For a device without a browser, such as a command line or a television (RFC 8628). Show `user_code` and `verification_uri`, or `verification_uri_complete` as a link or QR code, then ask the token endpoint every `interval` seconds.",
    bodyFormat: "form",
    body: DeviceAuthorizationRequest,
    limit: "deviceAuthorizationByIp",
    examples: { "A command line": { client_id: "cli" } },
    response: {
      description: "The codes.",
      schema: DeviceAuthorization,
      examples: {
        "A command line": {
          device_code: "Hf4FZ_jLN2Jf3VCwqcxF6sWbRgQmcmXsv53xU1XtBgk",
          user_code: "WDJB-MJHT",
          verification_uri: "https://api.example.com/device",
          verification_uri_complete: "https://api.example.com/device?user_code=WDJB-MJHT",
          expires_in: 600,
          interval: 5,
        },
      },
    },
    otherResponses: { 400: REFUSAL },
    run: ({ ctx, body, caller }) => startDeviceAuthorization(ctx, body.client_id, caller),
    writeError: writeOAuthError,
  }),

  revokeToken: operation({
    id: "revokeToken",
    summary: "Revoke an access token",
    description:
      "Signs an app out (RFC 7009): ends the session of an access token and removes the devices that it registered. An invalid token is not an error.",
    bodyFormat: "form",
    body: RevocationRequest,
    examples: { "Sign out": { token: ACCESS_TOKEN, client_id: "desktop" } },
    response: { status: 200, description: "The token is no longer valid.", schema: null },
    otherResponses: { 400: REFUSAL },
    run: ({ ctx, body, caller }) => revokeToken(ctx, body.client_id, body.token, caller),
    writeError: writeOAuthError,
  }),

  exchangeCode: operation({
    id: "exchangeCode",
    summary: "Exchange a code for an access token",
    description:
      "The token endpoint (RFC 6749, section 3.2). `authorization_code` requires `code`, `redirect_uri` and `code_verifier`; the code works once, within 60 seconds. `urn:ietf:params:oauth:grant-type:device_code` requires `device_code`; ask every `interval` seconds until the user has decided. `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693) requires `subject_token`, the ID token that Apple or Google issued to a native app, `subject_token_type` and `nonce`; it works once, within ten minutes. Without `client_id`, `subject_token` is the ID token of a CI job whose workflow is a publisher, with the service's URL as its audience: the access token is for the releases of the publisher's product, for 15 minutes. Otherwise, it is the token of a session. Send it as `Authorization: Bearer`.",
    bodyFormat: "form",
    body: TokenRequest,
    errors: ["second_factor_required", "rate_limited"],
    examples: {
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
      "A CI job": {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token: "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6IjM4ODI2YiJ9…",
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      },
    },
    response: {
      description: "The access token.",
      schema: TokenResponse,
      examples: {
        "A session": ISSUED,
        "A session for an ID token": { ...ISSUED, issued_token_type: "urn:ietf:params:oauth:token-type:access_token" },
        "Access for a CI job": {
          access_token: "hpt_eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0…",
          token_type: "Bearer",
          expires_in: 900,
          issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
          scope: "releases:write",
          publisher: {
            name: "acme/app",
            product: "core",
            channel: "stable",
            source: {
              repository: "acme/app",
              commit: "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
              ref: "refs/tags/v1.4.0",
            },
          },
        },
      },
    },
    otherResponses: {
      400: {
        description: `${REFUSAL.description} Of a device: \`authorization_pending\`, \`slow_down\`, \`access_denied\` or \`expired_token\` (RFC 8628, section 3.5). Of an ID token: \`invalid_request\` if it is not valid (RFC 8693, section 2.2.2), \`second_factor_required\` with a \`challenge\` for \`POST /api/auth/login/factor\`, \`account_disabled\`, \`email_not_verified\`, \`identity_unverified\` or \`identity_without_email\`.`,
        schema: TokenError,
        examples: {
          ...REFUSAL.examples,
          "An ID token that was used before": oauthError(
            "invalid_request",
            "The token was used before",
            "invalid_id_token",
          ),
          "A CI job that is no publisher": oauthError(
            "invalid_request",
            "The ID token was not accepted. The service's operators can look up why: 019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11.",
            "invalid_id_token",
          ),
          "An account with a second factor": {
            ...oauthError("second_factor_required", "A second factor is required"),
            challenge: "0dXJpPk3c0n1xq2Qm8s7vYb5tLwZ4aEfGhJkMnOpQrS",
            expiresAt: "2026-11-20T09:10:00.000Z",
            factors: ["totp", "recovery_code"],
          },
        },
      },
      503: {
        description: "The issuer of the ID token does not respond, so its keys are unknown.",
        schema: OAuthError,
        headers: ["Retry-After"],
        examples: {
          "Apple does not respond": oauthError(
            "temporarily_unavailable",
            "The sign-in provider does not respond",
            "provider_unavailable",
          ),
        },
      },
    },
    run: ({ ctx, body, caller }) => issueToken(ctx, body, caller),
    writeError: writeOAuthError,
  }),
};

/** Describes the authorization server to client libraries (RFC 8414, section 2). */
function serverMetadata({ baseUrl }: Pick<Config, "baseUrl">): z.infer<typeof ServerMetadata> {
  const endpoints = `${baseUrl}/api/auth/oauth`;
  return {
    issuer: baseUrl,
    authorization_endpoint: `${endpoints}/authorize`,
    token_endpoint: `${endpoints}/token`,
    revocation_endpoint: `${endpoints}/revoke`,
    device_authorization_endpoint: `${endpoints}/device`,
    response_types_supported: ["code"],
    grant_types_supported: [AUTHORIZATION_CODE_GRANT, DEVICE_CODE_GRANT, TOKEN_EXCHANGE_GRANT],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${baseUrl}/docs`,
  };
}

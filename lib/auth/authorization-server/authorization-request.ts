import { z } from "zod";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import type { OAuthClient } from "../../platform/config/oauth-clients";
import { findClient, isRegistered } from "./clients";

/** The parameters of an authorization request (RFC 6749, section 4.1.1; RFC 7636, section 4.3). */
export const AuthorizationParameters = z.object({
  client_id: z.string().max(64),
  redirect_uri: z.string().max(2048),
  response_type: z.string().optional().describe("`code`"),
  code_challenge: z.string().optional().describe("The base64url of the SHA-256 of the code verifier."),
  code_challenge_method: z.string().optional().describe("`S256`"),
  state: z.string().max(1024).optional(),
});
export type AuthorizationParameters = z.infer<typeof AuthorizationParameters>;

export type AuthorizationRequest = { client: OAuthClient; redirectUri: string; state?: string; codeChallenge: string };
/** A valid request, or the redirect URL of the error response. */
type CheckedRequest =
  | { request: AuthorizationRequest; errorRedirectUrl: null }
  | { request: null; errorRedirectUrl: string };

/** RFC 6749, section 4.1.2.1. */
type AuthorizationErrorCode = "invalid_request" | "unsupported_response_type" | "access_denied";
type Issuer = Pick<Config, "baseUrl">;

/** 32 bytes in base64url: what S256 makes of any verifier. */
const S256_CHALLENGE = /^[\w-]{43}$/;

/**
 * Checks an authorization request. Returns it, or the redirect URL of the error response.
 * @throws AppError invalid_client, invalid_redirect_uri: there is no URL that may be redirected to (RFC 6749, section
 *   3.1.2.4)
 */
export function checkAuthorizationRequest(
  config: Pick<Config, "baseUrl" | "OAUTH_CLIENTS">,
  given: AuthorizationParameters,
): CheckedRequest {
  const { state, redirect_uri: redirectUri, code_challenge: codeChallenge } = given;
  const client = findClient(config, given.client_id);
  if (!isRegistered(client, redirectUri)) throw new AppError("invalid_redirect_uri");
  const refuse = (error: AuthorizationErrorCode, description: string): CheckedRequest => ({
    request: null,
    errorRedirectUrl: buildErrorRedirectUrl(config, { redirectUri, state }, error, description),
  });
  if (given.response_type === undefined) return refuse("invalid_request", "response_type is missing");
  if (given.response_type !== "code") return refuse("unsupported_response_type", "response_type must be code");
  if (given.code_challenge_method !== "S256") return refuse("invalid_request", "code_challenge_method must be S256");
  if (codeChallenge === undefined || !S256_CHALLENGE.test(codeChallenge)) {
    return refuse("invalid_request", "code_challenge must be the base64url of a SHA-256");
  }
  return { request: { client, redirectUri, state, codeChallenge }, errorRedirectUrl: null };
}

/** The path of the page that asks the user about a request. */
export function authorizationPage(parameters: object): string {
  return `/authorize?${new URLSearchParams({ ...parameters })}`;
}

/** The redirect URL that returns an authorization code to the client (RFC 6749, section 4.1.2; `iss`: RFC 9207). */
export function buildCodeRedirectUrl(
  config: Issuer,
  request: Pick<AuthorizationRequest, "redirectUri" | "state">,
  code: string,
) {
  return withParameters(request.redirectUri, { code, state: request.state, iss: config.baseUrl });
}

/** The redirect URL of an error response (RFC 6749, section 4.1.2.1). */
export function buildErrorRedirectUrl(
  config: Issuer,
  { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
  error: AuthorizationErrorCode,
  description: string,
): string {
  return withParameters(redirectUri, { error, error_description: description, state, iss: config.baseUrl });
}

/** Adds parameters to the query that the URI has. The text stays as it was registered. */
function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(given)}`;
}

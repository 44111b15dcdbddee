import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Caller } from "../../principal";
import { exchangeJobToken } from "../publishers/exchange-job-token";
import { findSession, signOut } from "../sessions/sessions";
import { exchangeIdToken } from "../sign-in-providers/exchange-id-token";
import { exchangeCode } from "./authorization-codes";
import { findClient } from "./clients";
import { exchangeDeviceCode } from "./device-codes";
import {
  ACCESS_TOKEN_TYPE,
  AUTHORIZATION_CODE_GRANT,
  DEVICE_CODE_GRANT,
  TOKEN_EXCHANGE_GRANT,
  type TokenRequest,
  type TokenResponse,
} from "./schema";

type Deps = Pick<
  Context,
  "config" | "db" | "dbNow" | "emails" | "limits" | "log" | "now" | "removeDevices" | "webhooks"
>;

/**
 * Exchanges a grant for an access token (RFC 6749, section 3.2): the token of a new session or, for a CI job, of its
 * publisher.
 * @throws AppError unsupported_grant_type; validation_failed if a parameter of the grant is missing; the errors of
 *   `exchangeCode`, `exchangeDeviceCode`, `exchangeIdToken` and `exchangeJobToken`
 */
export async function issueToken(ctx: Deps, given: TokenRequest, caller: Caller): Promise<TokenResponse> {
  if (given.grant_type === TOKEN_EXCHANGE_GRANT && given.client_id === undefined)
    return issueJobToken(ctx, given, caller);
  const { session, token } = await exchangeByGrantType(ctx, given, caller);
  const expiresIn = Math.floor((session.expiresAt.getTime() - ctx.now().getTime()) / 1000);
  const issued = { access_token: token, token_type: "Bearer" as const, expires_in: expiresIn };
  return given.grant_type === TOKEN_EXCHANGE_GRANT ? { ...issued, issued_token_type: ACCESS_TOKEN_TYPE } : issued;
}

/** A CI job is no registered client: its ID token says who it is. */
async function issueJobToken(ctx: Deps, given: TokenRequest, caller: Caller): Promise<TokenResponse> {
  required(given, "subject_token_type");
  const idToken = required(given, "subject_token");
  const { token, expiresInSeconds, publisher } = await exchangeJobToken(ctx, idToken, given.audience, caller);
  const issued = { access_token: token, token_type: "Bearer" as const, expires_in: expiresInSeconds };
  return { ...issued, issued_token_type: ACCESS_TOKEN_TYPE, scope: "releases:write", publisher };
}

function exchangeByGrantType(ctx: Deps, given: TokenRequest, caller: Caller) {
  const { grant_type: grantType, name, authorization_code: authorizationCode } = given;
  const clientId = required(given, "client_id");
  if (grantType === DEVICE_CODE_GRANT) {
    return exchangeDeviceCode(ctx, clientId, required(given, "device_code"), caller);
  }
  if (grantType === TOKEN_EXCHANGE_GRANT) {
    required(given, "subject_token_type");
    const [idToken, nonce] = [required(given, "subject_token"), required(given, "nonce")];
    return exchangeIdToken(ctx, { clientId, idToken, nonce, name, authorizationCode }, caller);
  }
  if (grantType !== AUTHORIZATION_CODE_GRANT) throw new AppError("unsupported_grant_type");
  const [code, redirectUri] = [required(given, "code"), required(given, "redirect_uri")];
  return exchangeCode(ctx, { clientId, code, redirectUri, codeVerifier: required(given, "code_verifier") }, caller);
}

function required(given: TokenRequest, name: keyof TokenRequest): string {
  const value = given[name];
  if (value !== undefined) return value;
  throw new AppError("validation_failed", { errors: [{ pointer: `/${name}`, code: "required", detail: "Required" }] });
}

/** Ends the session of an access token, if it is valid (RFC 7009, section 2.1). @throws AppError invalid_client */
export async function revokeToken(ctx: Deps, clientId: string, token: string, caller: Caller): Promise<void> {
  findClient(ctx.config, clientId);
  const found = await findSession(ctx, token);
  if (found?.session.transport === "token") await signOut(ctx, found.claims, caller);
}

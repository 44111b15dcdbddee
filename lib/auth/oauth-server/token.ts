import type { Caller } from "../../audit/caller";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { exchangeCode } from "./authorization-codes";
import { exchangeDeviceCode } from "./device-codes";
import { AUTHORIZATION_CODE_GRANT, DEVICE_CODE_GRANT, type TokenRequest, type TokenResponse } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "limits" | "now" | "removeDevices">;

/**
 * Exchanges a grant for an access token: the token of a new session (RFC 6749, section 3.2).
 * @throws AppError unsupported_grant_type; validation_failed if a parameter of the grant is missing; the errors of
 *   `exchangeCode` and `exchangeDeviceCode`
 */
export async function issueToken(ctx: Deps, given: TokenRequest, caller: Caller): Promise<TokenResponse> {
  const { session, token } = await exchangeGrant(ctx, given, caller);
  const expiresIn = Math.floor((session.expiresAt.getTime() - ctx.now().getTime()) / 1000);
  return { access_token: token, token_type: "Bearer", expires_in: expiresIn };
}

function exchangeGrant(ctx: Deps, given: TokenRequest, caller: Caller) {
  const { grant_type: grantType, client_id: clientId } = given;
  if (grantType === DEVICE_CODE_GRANT) {
    return exchangeDeviceCode(ctx, { clientId, deviceCode: required(given, "device_code") }, caller);
  }
  if (grantType !== AUTHORIZATION_CODE_GRANT) throw new AppError("unsupported_grant_type");
  const [code, redirectUri] = [required(given, "code"), required(given, "redirect_uri")];
  return exchangeCode(ctx, { clientId, code, redirectUri, codeVerifier: required(given, "code_verifier") }, caller);
}

function required(given: TokenRequest, name: keyof TokenRequest): string {
  const value = given[name];
  if (value !== undefined) return value;
  throw new AppError("validation_failed", {
    errors: [{ pointer: `/${name}`, code: "required", detail: "Required" }],
  });
}

import type { Context } from "../../context";
import { setSessionCookie } from "../../platform/http/cookies";
import { requireOwnOrigin } from "../../platform/http/origin";
import { CLEAR_SITE_DATA } from "../../platform/http/security-headers";
import { type RequestHead, RouteResponse } from "../../platform/http-message";
import type { Caller, Principal } from "../../principal";
import { readCredentials } from "../authenticate";
import { setDeviceCookie } from "../recognized-clients";
import type { SecondFactorChallenge } from "../second-factor/challenges";
import { secondFactorRequired } from "../second-factor/complete-sign-in";
import { findSession, revokeSession, type Transport } from "./sessions";

type Issued = {
  user: unknown;
  session: { id: string; transport: Transport; expiresAt: Date };
  token: string;
  /** The ID in the cookie that recognizes the browser. */
  deviceId: string;
};

/** The transport of a new session: a cookie for browsers by default. @throws AppError origin_not_allowed */
export function chooseTransport(request: RequestHead, requested: Transport | undefined, ctx: Context): Transport {
  const isBrowser = request.headers.has("origin") || request.headers.has("sec-fetch-site");
  const transport = requested ?? (isBrowser ? "cookie" : "token");
  if (transport === "cookie") requireOwnOrigin(request.headers, ctx.config);
  return transport;
}

/**
 * The response to a sign-in. The body has no token if a cookie carries it (OWASP ASVS 5.0, 3.3.4).
 * @throws AppError second_factor_required with the challenge of a sign-in that needs a second factor
 */
export async function sessionResponse(
  status: number,
  issued: Issued | SecondFactorChallenge,
  request: RequestHead,
  ctx: Context,
): Promise<RouteResponse<unknown>> {
  if ("challenge" in issued) throw secondFactorRequired(issued);
  const { user, session, token } = issued;
  if (session.transport === "token") return new RouteResponse(status, { user, session, token, tokenType: "Bearer" });
  return new RouteResponse(
    status,
    { user, session },
    { "Set-Cookie": await replaceSession(ctx, request.headers, issued) },
  );
}

/** The cookies of a new session and its device. Revokes the session that they replace (OWASP ASVS 5.0, 7.2.4). */
export async function replaceSession(
  ctx: Context,
  headers: RequestHead["headers"],
  { token, session, deviceId }: Pick<Issued, "token" | "session" | "deviceId">,
): Promise<string[]> {
  const given = readCredentials(headers, ctx.config);
  const replaced = given?.via === "cookie" ? await findSession(ctx, given.token) : null;
  if (replaced) await revokeSession(ctx, replaced.session.id);
  return [setSessionCookie(ctx.config, token, session.expiresAt), setDeviceCookie(ctx, deviceId)];
}

/** A response that ends the session. Deletes the cookie that carried it, and what the browser has stored. */
export function signedOutResponse(status: number, body: unknown, { session }: Principal, ctx: Context) {
  if (session.via === "bearer") return new RouteResponse(status, body);
  const cookie = setSessionCookie(ctx.config, null, session.expiresAt);
  return new RouteResponse(status, body, { "Set-Cookie": cookie, ...CLEAR_SITE_DATA });
}

type Renewal = { ctx: Context; principal: Principal; caller: Caller };

/** Replaces the token of the caller's session where the request carried it. null: the token still works. */
export function renewedSessionResponse(status: number, body: object, token: string | null, renewal: Renewal) {
  if (token === null) return new RouteResponse(status, body);
  if (renewal.principal.session.via === "bearer")
    return new RouteResponse(status, { ...body, token, tokenType: "Bearer" });
  return new RouteResponse(status, body, { "Set-Cookie": renewedSessionCookies(token, renewal) });
}

/** The Set-Cookie headers of a session's new token and its device. */
export function renewedSessionCookies(token: string, { ctx, principal, caller }: Renewal): string[] {
  return [setSessionCookie(ctx.config, token, principal.session.expiresAt), setDeviceCookie(ctx, caller.deviceId)];
}

import { type Principal, readCredentials } from "../auth/authenticate";
import { setSessionCookie } from "../auth/cookie";
import { setDeviceCookie } from "../auth/limits/recognized-clients";
import { findSession, revokeSession, type Transport } from "../auth/sessions/sessions";
import type { Context } from "../context";
import { requireOwnOrigin } from "./origin";
import type { RequestHead } from "./route-request";
import { RouteResponse } from "./route-response";

type Issued = {
  user: unknown;
  session: { id: string; transport: Transport; expiresAt: Date };
  token: string;
  /** By which the browser is recognized. */
  deviceId: string;
};

/**
 * How a new session travels: as asked, else as a cookie for what looks like a browser and as a token for
 * anything else. @throws AppError origin_not_allowed where another site would set the cookie.
 */
export function chooseTransport(request: RequestHead, asked: Transport | undefined, ctx: Context): Transport {
  const browser = request.headers.has("origin") || request.headers.has("sec-fetch-site");
  const transport = asked ?? (browser ? "cookie" : "token");
  if (transport === "cookie") requireOwnOrigin(request.headers, ctx.config);
  return transport;
}

/** A signed-in answer. A token set as a cookie does not stand in the body as well (OWASP ASVS 5.0, 3.3.4). */
export async function sessionResponse(
  status: number,
  issued: Issued,
  request: RequestHead,
  ctx: Context,
): Promise<RouteResponse<unknown>> {
  const { user, session, token } = issued;
  if (session.transport === "token") return new RouteResponse(status, { user, session, token, tokenType: "Bearer" });
  return new RouteResponse(
    status,
    { user, session },
    { "Set-Cookie": await replaceSession(ctx, request.headers, issued) },
  );
}

/**
 * The Set-Cookie headers of a new session, and of the device that is recognized from now on. The session whose cookie
 * it replaces ends (OWASP ASVS 5.0, 7.2.4).
 */
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

/** An answer after which the caller has no session: where a cookie carried it, the cookie goes. */
export function signedOutResponse(
  status: number,
  body: unknown,
  { session }: Principal,
  ctx: Context,
): RouteResponse<unknown> {
  if (session.via === "bearer") return new RouteResponse(status, body);
  return new RouteResponse(status, body, { "Set-Cookie": setSessionCookie(ctx.config, null, session.expiresAt) });
}

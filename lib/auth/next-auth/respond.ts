import { z } from "zod";
import type { Context } from "../../context";
import { cookieName, readEncryptedCookie, setCookie, setEncryptedCookie } from "../../platform/http/cookies";
import { CLEAR_SITE_DATA } from "../../platform/http/security-headers";
import { jsonResponse, type RequestHead, RouteResponse } from "../../platform/http-message";
import { matchRegistration, VERIFICATION_TTL_HOURS } from "../email-verification";
import { seenFrom } from "../sessions/authentication";
import { findSession, signOut } from "../sessions/sessions";
import { isProviderAction, type NextAuthCall, requireAction } from "./call-from-request";
import { providersFor, VERIFY_PAGE } from "./options";
import { type CallState, isSignedIn, isSignedOut, runNextAuth, withCookies } from "./run";
import type { NextAuthDeps } from "./sign-in-callback";

/** The lifetime of next-auth's cookies for state, PKCE and nonce, which belong to the same sign-in. */
const TTL_SECONDS = 15 * 60;

/** An identity that signed in to an account with an unverified email. */
const PendingIdentity = z.object({ provider: z.string(), issuer: z.string(), subject: z.string() });

/** The identity with which this browser signed in; undefined if there is none. */
export async function readPendingIdentityCookie(config: Context["config"], cookieHeader: string | null) {
  const claims = await readEncryptedCookie(config, cookieHeader, cookieName(config, "pendingIdentity"));
  const parsed = PendingIdentity.safeParse(claims);
  return parsed.success ? parsed.data : undefined;
}

/** The parameters of a sign-in that are forwarded to the provider. next-auth would forward all, `scope` included. */
const FORWARDED_PARAMETERS = ["prompt", "login_hint"];

/**
 * next-auth's routes on this service's sessions.
 * @throws AppError not_found for an unknown action or provider, rate_limited
 */
export async function respondNextAuth(ctx: NextAuthDeps, call: NextAuthCall): Promise<RouteResponse> {
  const [action] = call.segments;
  const providerType = requireAction(call, providersFor(ctx, call));
  // next-auth/react reports errors of browsers here. They are not logged, because a caller can write anything.
  if (action === "_log") return new RouteResponse(200, null);
  if (action === "signout" && call.method === "POST" && call.credentials?.via === "bearer") {
    return signOutBearer(ctx, call, call.credentials.token);
  }
  // next-auth would redirect to the sign-in page with `error=undefined`.
  if (action === "error" && call.query.error === undefined)
    return new RouteResponse(302, null, { Location: `${ctx.config.baseUrl}/sign-in` });
  if (action === "callback" && providerType === "email") return respondToEmailCallback(ctx, call);
  if (action === "callback" && providerType === "oauth") return finishOAuth(ctx, call);
  if (action === "signin" && providerType === "oauth" && call.method === "POST") return startOAuth(ctx, call);
  const response = await runNextAuth(ctx, call, await readCallState(ctx, call));
  const hasSignedOut = action === "signout" && isSignedOut(ctx, response);
  const { status, body, headers } = response;
  return hasSignedOut ? new RouteResponse(status, body, { ...headers, ...CLEAR_SITE_DATA }) : response;
}

/** Reads the browser's session, and the session that started its sign-in at a provider. */
async function readCallState(ctx: NextAuthDeps, call: NextAuthCall): Promise<CallState> {
  const isByCookie = call.credentials?.via === "cookie" && isProviderAction(call.segments[0]);
  const found = isByCookie && call.credentials ? await findSession(ctx, call.credentials.token) : null;
  const currentSession = found && { ...found, session: seenFrom(found.session, () => call.caller, ctx.config) };
  const cookie = cookieName(ctx.config, "linkingSession");
  const linking =
    call.segments[0] === "callback" ? await readEncryptedCookie(ctx.config, call.cookieHeader, cookie) : null;
  const linkingSessionId = typeof linking?.sid === "string" ? linking.sid : undefined;
  return { currentSession, linkingSessionId, registration: null, unverifiedIdentities: [], challenges: [] };
}

/** Signs out a bearer token. Another site cannot send one, so no CSRF token is needed. Can be repeated. */
async function signOutBearer(ctx: NextAuthDeps, { caller }: NextAuthCall, token: string): Promise<RouteResponse> {
  const found = await findSession(ctx, token);
  if (found) await signOut(ctx, found.claims, caller);
  return jsonResponse(200, { url: ctx.config.baseUrl });
}

/**
 * Confirms an email by the token of an emailed link. The link itself (GET) only leads to a page with a button, because
 * email scanners open links. The token is in its fragment, which browsers keep in redirects (RFC 9110, section 10.2.2).
 */
async function respondToEmailCallback(ctx: NextAuthDeps, call: NextAuthCall): Promise<RouteResponse> {
  if (call.method === "GET") return new RouteResponse(302, null, { Location: VERIFY_PAGE });
  const { body, caller, cookieHeader } = call;
  const token = typeof body.token === "string" ? body.token : "";
  const password = typeof body.password === "string" && body.password !== "" ? body.password : undefined;
  const identity = await readPendingIdentityCookie(ctx.config, cookieHeader);
  const registration = await matchRegistration(ctx, token, { password, identity }, caller.ip);
  const state = { ...(await readCallState(ctx, call)), registration };
  const confirmation = { ...call, method: "GET" as const, query: { token }, cookieHeader: null, body: {} };
  const response = await runNextAuth(ctx, confirmation, state);
  if (isSignedIn(ctx, response)) await ctx.limits.refund("verificationByIp", caller.ip);
  return response;
}

/** Redirects the browser to a provider, and stores the session that started the sign-in. */
async function startOAuth(ctx: NextAuthDeps, call: NextAuthCall): Promise<RouteResponse> {
  await ctx.limits.consume("oauthByIp", call.caller.ip);
  const state = await readCallState(ctx, call);
  const response = await runNextAuth(ctx, { ...call, query: pick(call.query, FORWARDED_PARAMETERS) }, state);
  const name = cookieName(ctx.config, "linkingSession");
  const sid = state.currentSession?.session.id;
  // Encrypted, so that only this service decides to which account an identity is linked.
  const cookie = sid
    ? await setEncryptedCookie(ctx.config, ctx.now(), { name, claims: { sid }, ttlSeconds: TTL_SECONDS })
    : setCookie(ctx.config, name, null, ctx.now());
  return withCookies(response, [cookie]);
}

/** Signs in with the provider's response, or links the identity to the account that started the sign-in. */
async function finishOAuth(ctx: NextAuthDeps, call: NextAuthCall): Promise<RouteResponse> {
  if (call.method === "POST") return redirectFormPost(ctx, call);
  await ctx.limits.consume("oauthByIp", call.caller.ip);
  const state = await readCallState(ctx, call);
  const response = await runNextAuth(ctx, call, state);
  // The start of the sign-in was counted too. Many people share a network.
  if (isSignedIn(ctx, response)) await ctx.limits.refund("oauthByIp", call.caller.ip, 2);
  // With the emailed token it proves both the identity and the email. Encrypted, so that only this service creates it.
  const name = cookieName(ctx.config, "pendingIdentity");
  const remember = state.unverifiedIdentities.map(({ provider, issuer, subject }) => {
    const claims = { provider, issuer, subject };
    return setEncryptedCookie(ctx.config, ctx.now(), { name, claims, ttlSeconds: VERIFICATION_TTL_HOURS * 60 * 60 });
  });
  return withCookies(response, await Promise.all(remember));
}

/**
 * Apple posts its response from its own site, where browsers withhold SameSite=Lax cookies. After a 303 the same
 * parameters arrive by GET, with the cookies for state, PKCE, nonce and session.
 */
function redirectFormPost({ config }: NextAuthDeps, { segments, body }: NextAuthCall): RouteResponse {
  const query = new URLSearchParams(pick(body, ["code", "state", "error"]) as Record<string, string>);
  return new RouteResponse(303, null, { Location: `${config.baseUrl}/api/auth/${segments.join("/")}?${query}` });
}

/** The named entries of a record that are strings. */
function pick<T>(record: Record<string, T>, names: string[]): Record<string, T> {
  return Object.fromEntries(
    names.filter((name) => typeof record[name] === "string").map((name) => [name, record[name] as T]),
  );
}

/** With an absolute Location, and without cookies for another site's fetch or an Authorization header. */
export function finishNextAuth({ config }: Pick<NextAuthDeps, "config">, request: RequestHead, given: RouteResponse) {
  const { "Set-Cookie": cookies, ...headers } = given.headers;
  const isFetch = request.headers.get("sec-fetch-mode") !== "navigate";
  const isCrossSite = isFetch && request.headers.get("sec-fetch-site") === "cross-site";
  if (headers.Location) headers.Location = new URL(String(headers.Location), config.baseUrl).href;
  if (typeof given.body === "string") headers["Content-Length"] = String(Buffer.byteLength(given.body));
  if (cookies && !isCrossSite && !request.headers.has("authorization")) headers["Set-Cookie"] = cookies;
  return new RouteResponse(given.status, given.body, headers);
}

import type { NextAuthOptions } from "next-auth";
import type { Context } from "../../context";
import { cookieName, parseCookies } from "../../platform/http/cookies";
import { RouteResponse } from "../../platform/http-message";
import { setDeviceCookie } from "../recognized-clients";
import { setChallengeCookie } from "../second-factor/challenges";
import { isProviderAction, type NextAuthCall } from "./call-from-request";
import { nextAuthOptions, secretsOfCall } from "./options";
import type { NextAuthDeps } from "./sign-in-callback";

/** What next-auth's options depend on besides the path and the caller. */
export type CallState = Omit<
  Parameters<typeof nextAuthOptions>[1],
  "segments" | "caller" | "cookieHeader" | "secrets" | "callbackUrl"
>;

/** The parameter, and the cookie with any prefix. */
const CALLBACK_URL = /^(?:callbackUrl|(?:__Host-|__Secure-)?next-auth\.callback-url)$/;

/** Runs next-auth. @throws the errors that it swallows: with the database down, it would sign the browser out */
export async function runNextAuth(ctx: NextAuthDeps, call: NextAuthCall, state: CallState): Promise<RouteResponse> {
  const failures: unknown[] = [];
  const secrets = await secretsOfCall(ctx.config, call);
  const given = { ...call, ...state, secrets, callbackUrl: callbackUrlOf(call) };
  const options = nextAuthOptions(ctx, given, (error) => failures.push(error));
  const pending = { status: 200, headers: {} as Record<string, string>, cookies: [] as string[], body: null };
  const nextAuthHandler = await loadNextAuthHandler();
  await nextAuthHandler(options)(pagesRequest(ctx, call), pagesResponse(pending));
  const { status, headers, cookies, body } = pending;
  if (failures.length > 0) throw failures[0];
  if (status >= 500) throw new Error(`next-auth responded with ${status}: ${body}`);
  const challenge = state.challenges.map((one) => setChallengeCookie(ctx.config, one));
  // next-auth/react reads `ok` and `error`, other clients are redirected.
  const isRefusal = challenge.length > 0 && status === 200;
  const response = withCookies(new RouteResponse(isRefusal ? 401 : status, body, headers), [...cookies, ...challenge]);
  if (call.segments[0] !== "callback" || !isSignedIn(ctx, response)) return response;
  return withCookies(response, [setDeviceCookie(ctx, call.caller.deviceId)]);
}

/** The response with further Set-Cookie headers. */
export function withCookies({ status, body, headers }: RouteResponse, cookies: readonly string[]): RouteResponse {
  const all = [...cookiesOf({ headers }), ...cookies];
  return new RouteResponse(status, body, all.length > 0 ? { ...headers, "Set-Cookie": all } : headers);
}

/** The Set-Cookie headers of a response. */
export function cookiesOf({ headers }: Pick<RouteResponse, "headers">): string[] {
  return [headers["Set-Cookie"] ?? []].flat();
}

/** Whether the response sets a session cookie. */
export function isSignedIn({ config }: Pick<Context, "config">, response: RouteResponse): boolean {
  return cookiesOf(response).some((cookie) => cookie.startsWith(`${cookieName(config, "session")}=ey`));
}

/** Whether the response removes the session cookie. */
export function isSignedOut({ config }: Pick<Context, "config">, response: RouteResponse): boolean {
  return cookiesOf(response).some((cookie) => cookie.startsWith(`${cookieName(config, "session")}=;`));
}

/** The part of a Pages Router request that next-auth uses. Its host is ours, whatever the caller's Host header is. */
function pagesRequest({ config }: Pick<Context, "config">, call: NextAuthCall) {
  return {
    method: call.method,
    query: { ...withSafeCallback(call.query), nextauth: call.segments },
    cookies: withSafeCallback(cookiesFor(call, cookieName(config, "session"))),
    headers: { host: new URL(config.baseUrl).host },
    body: withSafeCallback(call.body),
  };
}

type Pending = { status: number; headers: Record<string, string>; cookies: string[]; body: string | null };

function pagesResponse(pending: Pending) {
  const response = {
    status: (status: number) => {
      pending.status = status;
      return response;
    },
    getHeader: (name: string) => (name === "Set-Cookie" ? [...pending.cookies] : undefined),
    setHeader: (name: string, value: string | string[]) => {
      if (name === "Set-Cookie") pending.cookies = [value].flat();
      else pending.headers[name] = String(value);
      return response;
    },
    end: () => {},
    json: (body: unknown) => response.send(body ?? {}),
    send: (body: unknown) => {
      const isText = typeof body === "string";
      if (!isText && body !== undefined) response.setHeader("Content-Type", "application/json");
      pending.body = isText ? body : (JSON.stringify(body) ?? null);
    },
  };
  return response;
}

/**
 * The request's cookies. The session token is a cookie even if a header carried it. A sign-in gets no session cookie,
 * because this service decides what happens to the current session, not next-auth.
 */
function cookiesFor({ segments, cookieHeader, credentials }: NextAuthCall, sessionName: string) {
  const others = Object.entries(parseCookies(cookieHeader)).filter(([name]) => !name.startsWith(sessionName));
  const session = credentials && !isProviderAction(segments[0]) ? { [sessionName]: credentials.token } : {};
  return { ...Object.fromEntries(others), ...session };
}

/** The page that follows a sign-in: next-auth takes it from the request, or from the cookie of the request before. */
function callbackUrlOf({ cookieHeader, query, body }: NextAuthCall): string | undefined {
  const given = [body, query, parseCookies(cookieHeader)].flatMap((part) => Object.entries<unknown>(part));
  const urls = given.flatMap(([name, url]) => (CALLBACK_URL.test(name) && typeof url === "string" ? [url] : []));
  return urls[0];
}

/** Removes callback URLs that are not valid URLs, on which next-auth would fail. */
function withSafeCallback<T extends Record<string, unknown>>(given: T): T {
  const isSafe = (value: unknown) =>
    typeof value === "string" &&
    /^(\/|https?:)/.test(value) &&
    URL.canParse(value, value.startsWith("/") ? "http://localhost" : undefined);
  const kept = Object.entries(given).filter(([name, value]) => !CALLBACK_URL.test(name) || isSafe(value));
  return Object.fromEntries(kept) as T;
}

type Handler = (request: object, response: object) => Promise<void>;

/**
 * Loads next-auth's Pages Router handler, which takes a plain request and response. The App Router handler works only
 * inside a request that Next serves. Loaded at the first use, because few starts need it at once.
 */
async function loadNextAuthHandler(): Promise<(options: NextAuthOptions) => Handler> {
  const { default: module } = await import("next-auth");
  // The package is CommonJS, so Node nests its default export in `default`.
  return ((module as { default?: unknown }).default ?? module) as (options: NextAuthOptions) => Handler;
}

import NextAuthModule, { type NextAuthOptions } from "next-auth";
import type { Caller } from "../../audit/caller";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Credentials } from "../authenticate";
import { parseCookies, sessionCookieName } from "../cookie";
import { setDeviceCookie } from "../limits/recognized-clients";
import { findSession } from "../sessions/sessions";
import { signOut } from "../sessions/sign-out";
import type { MatchedRegistration } from "../verification/email-verification";
import { matchRegistration } from "../verification/match-registration";
import { nextAuthOptions, VERIFY_PAGE } from "./options";
import { type PendingIdentity, recallIdentity, rememberIdentity } from "./pending-identity";
import { recallStart, rememberStart } from "./started-by";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "hasher" | "limits" | "log" | "emails" | "now" | "removeDevices">;

/** One call of the catch-all: the path after /api/auth, and the body as it was parsed. */
export type NextAuthCall = {
  method: "GET" | "POST";
  segments: string[];
  query: Record<string, string>;
  cookieHeader: string | null;
  /** The session's token, and whether a header or the cookie brought it. */
  credentials: Credentials | null;
  body: Record<string, unknown>;
  caller: Caller;
};

export type NextAuthAnswer = {
  status: number;
  headers: Record<string, string>;
  cookies: string[];
  body: string | null;
};

const ACTIONS: Record<NextAuthCall["method"], string[]> = {
  GET: ["providers", "session", "csrf", "signin", "signout", "callback", "verify-request", "error"],
  POST: ["signin", "signout", "callback", "session", "_log"],
};
/** Of these a path names the provider, and nothing may follow. */
const WITH_PROVIDER = ["signin", "callback"];
/** What whoever begins a sign-in may tell the provider. next-auth would pass on everything, `scope` and all. */
const PASSED_ON = ["prompt", "login_hint"];

/**
 * next-auth's own routes, on this service's sessions. It is called the way its Pages Router handler is, with a
 * plain request and response, since its App Router handler works only inside a request that Next serves.
 * @throws AppError not_found for an action or provider that does not exist, rate_limited; whatever the database throws.
 */
export async function answerNextAuth(ctx: Deps, call: NextAuthCall): Promise<NextAuthAnswer> {
  const [action = "", provider] = call.segments;
  const cookie = call.credentials?.via === "cookie" && WITH_PROVIDER.includes(action) ? call.credentials.token : null;
  const current = cookie === null ? null : await findSession(ctx, cookie);
  const startedBy = action === "callback" ? await recallStart(ctx.config, call.cookieHeader) : undefined;
  const failures: unknown[] = [];
  const unverified: PendingIdentity[] = [];
  const optionsWith = (proven: MatchedRegistration | null) =>
    nextAuthOptions(ctx, { ...call, current, startedBy, proven, unverified }, (error) => failures.push(error));
  const options = optionsWith(null);
  const type = requireAction(call, options);
  // What next-auth/react reports from a browser is its caller's words: our log takes none.
  if (action === "_log") return { status: 200, headers: {}, cookies: [], body: null };
  if (action === "signout" && call.method === "POST" && call.credentials?.via === "bearer") {
    return signOutBearer(ctx, call.credentials.token, call.caller);
  }
  if (action === "callback" && type === "email") {
    // Mail scanners open links too, and must not use the token up: the page's button does. It is in the fragment,
    // which browsers carry along (RFC 9110, 10.2.2).
    if (call.method === "GET") return { status: 302, headers: { Location: VERIFY_PAGE }, cookies: [], body: null };
    const { token, proof } = await readConfirmation(ctx, call);
    const proven = await matchRegistration(ctx, token, proof, call.caller.ip);
    const confirm = { ...call, method: "GET" as const, query: { token }, cookieHeader: null, body: {} };
    const answer = await run(ctx, optionsWith(proven), confirm, failures);
    if (isSignedIn(ctx, answer)) await ctx.limits.giveBack("verificationByAddress", call.caller.ip);
    return answer;
  }
  if (type !== "oauth" || (action === "signin" && call.method === "GET")) return run(ctx, options, call, failures);
  if (call.method === "POST" && action === "callback") return answerFormPost(ctx, provider, call.body);
  await ctx.limits.consume("oauthByAddress", call.caller.ip);
  if (action === "callback") {
    const answer = await run(ctx, options, call, failures);
    // Its beginning was counted as well. Many people share an address.
    if (isSignedIn(ctx, answer)) await ctx.limits.giveBack("oauthByAddress", call.caller.ip, 2);
    for (const identity of unverified) answer.cookies.push(await rememberIdentity(ctx.config, ctx.now(), identity));
    return answer;
  }
  const answer = await run(ctx, options, { ...call, query: pick(call.query, PASSED_ON) }, failures);
  const start = await rememberStart(ctx.config, ctx.now(), current?.session.id);
  return { ...answer, cookies: [...answer.cookies, start] };
}

/** What the page behind a mailed link sends: the token, and what proves whose registration it confirms. */
async function readConfirmation({ config }: Deps, { body, cookieHeader }: NextAuthCall) {
  const password = typeof body.password === "string" && body.password !== "" ? body.password : undefined;
  return { token: String(body.token), proof: { password, identity: await recallIdentity(config, cookieHeader) } };
}

/** Lets next-auth answer. `failures` are what it would have swallowed. */
async function run(ctx: Deps, options: NextAuthOptions, call: NextAuthCall, failures: unknown[]) {
  const { config } = ctx;
  const answer: NextAuthAnswer = { status: 200, headers: {}, cookies: [], body: null };
  const request = {
    method: call.method,
    query: { ...withSafeCallback(call.query), nextauth: call.segments },
    cookies: withSafeCallback(cookiesFor(call, sessionCookieName(config))),
    // Links are built from the configuration, never from what the caller says its host is.
    headers: { host: new URL(config.baseUrl).host },
    body: withSafeCallback(call.body),
  };
  await nextAuth(options)(request, responseInto(answer));
  // next-auth would answer a lost database by taking the session cookie away.
  if (failures.length > 0) throw failures[0];
  if (answer.status >= 500) throw new Error(`next-auth answered ${answer.status}: ${answer.body}`);
  if (call.segments[0] === "callback" && isSignedIn(ctx, answer)) {
    answer.cookies.push(setDeviceCookie(ctx, call.caller.deviceId));
  }
  return answer;
}

function isSignedIn({ config }: Pick<Deps, "config">, { cookies }: NextAuthAnswer): boolean {
  return cookies.some((cookie) => cookie.startsWith(`${sessionCookieName(config)}=ey`));
}

/** The part of a Pages Router response that next-auth uses. */
function responseInto(answer: NextAuthAnswer) {
  const response = {
    status: (status: number) => {
      answer.status = status;
      return response;
    },
    getHeader: (name: string) => (name === "Set-Cookie" ? [...answer.cookies] : undefined),
    setHeader: (name: string, value: string | string[]) => {
      if (name === "Set-Cookie") answer.cookies = [value].flat();
      else answer.headers[name] = String(value);
      return response;
    },
    end: () => {},
    json: (body: unknown) => response.send(body ?? {}),
    send: (body: unknown) => {
      const isText = typeof body === "string";
      if (!isText && body !== undefined) response.setHeader("Content-Type", "application/json");
      answer.body = isText ? body : (JSON.stringify(body) ?? null);
    },
  };
  return response;
}

type Handler = (request: object, response: object) => Promise<void>;
/** The package is CommonJS: its default export is one level down where Node itself loads it. */
const nextAuth = ((NextAuthModule as { default?: unknown }).default ?? NextAuthModule) as (
  options: NextAuthOptions,
) => Handler;

/**
 * The request's cookies, with the session's token in its place however it came. Whether a sign-in has to do with
 * the session that is there, next-auth is not left to decide.
 */
function cookiesFor({ segments, cookieHeader, credentials }: NextAuthCall, sessionName: string) {
  const others = Object.entries(parseCookies(cookieHeader)).filter(([name]) => !name.startsWith(sessionName));
  const session = credentials && !WITH_PROVIDER.includes(segments[0] ?? "") ? { [sessionName]: credentials.token } : {};
  return { ...Object.fromEntries(others), ...session };
}

const CALLBACK_URLS = ["callbackUrl", "next-auth.callback-url", "__Secure-next-auth.callback-url"];

/** next-auth parses these as addresses, whatever they are, and fails on what is none. */
function withSafeCallback<T extends Record<string, unknown>>(given: T): T {
  const isSafe = (value: unknown) =>
    typeof value === "string" &&
    /^(\/|https?:)/.test(value) &&
    URL.canParse(value, value.startsWith("/") ? "http://localhost" : undefined);
  const kept = Object.entries(given).filter(([name, value]) => !CALLBACK_URLS.includes(name) || isSafe(value));
  return Object.fromEntries(kept) as T;
}

type ProviderType = NextAuthOptions["providers"][number]["type"];

/** The type of the provider that the path names, if it names one. @throws AppError not_found */
function requireAction({ method, segments }: NextAuthCall, options: NextAuthOptions): ProviderType | null {
  const [action = "", name, ...more] = segments;
  const known = ACTIONS[method].includes(action) && more.length === 0;
  if (known && name === undefined && action !== "callback") return null;
  const provider = options.providers.find(({ id }) => id === name);
  const fits = WITH_PROVIDER.includes(action) && (action === "signin" || takesCallback(method, provider));
  if (!known || !provider || !fits) throw new AppError("not_found");
  return provider.type;
}

/** A password is posted; so is Apple's answer, and the button of the page that confirms an address. */
function takesCallback(method: string, provider: NextAuthOptions["providers"][number] | undefined): boolean {
  if (provider?.type === "credentials") return method === "POST";
  return method === "GET" || provider?.type === "email" || provider?.id === "apple";
}

/**
 * Apple posts its answer from its own site, and browsers keep SameSite=Lax cookies back from that. Sent on by
 * 303, they come by GET and bring them: state, PKCE, nonce and session all stay Lax.
 */
function answerFormPost({ config }: Deps, provider = "", body: Record<string, unknown>): NextAuthAnswer {
  const query = new URLSearchParams(pick(body, ["code", "state", "error"]) as Record<string, string>);
  const Location = `${config.baseUrl}/api/auth/callback/${provider}?${query}`;
  return { status: 303, headers: { Location }, cookies: [], body: null };
}

/** A bearer token cannot be sent by another site, so signing out takes no csrf token. Once more does no harm. */
async function signOutBearer(ctx: Deps, token: string, caller: Caller): Promise<NextAuthAnswer> {
  const found = await findSession(ctx, token);
  if (found) await signOut(ctx, found.claims, caller);
  const headers = { "Content-Type": "application/json" };
  return { status: 200, headers, cookies: [], body: JSON.stringify({ url: ctx.config.baseUrl }) };
}

/** The named entries of a record that are text. */
function pick<T>(record: Record<string, T>, names: string[]): Record<string, T> {
  return Object.fromEntries(
    names.filter((name) => typeof record[name] === "string").map((name) => [name, record[name] as T]),
  );
}

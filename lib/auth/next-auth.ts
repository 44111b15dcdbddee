import NextAuthModule, { type NextAuthOptions, type Session } from "next-auth";
import { z } from "zod";
import type { Context } from "../context";
import { AppError, isAppError } from "../errors";
import { parseCookies, sessionCookieName, sessionCookieOptions } from "./cookie";
import { type Caller, issueSession, verifyPassword } from "./credentials";
import { Email } from "./email";
import { recordSecurityEvent } from "./security-events";
import { findSession, revokeSession } from "./sessions";
import { type Claims, encodeToken } from "./tokens";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "log" | "now">;

/** One call of the catch-all: the path after /api/auth, and the body as it was parsed. */
export type NextAuthCall = {
  method: "GET" | "POST";
  segments: string[];
  query: Record<string, string>;
  cookieHeader: string | null;
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
const COOKIE_SECONDS = 30 * 24 * 60 * 60;

const SignIn = z.object({ email: Email, password: z.string().min(1).max(1024) });

/**
 * next-auth's own routes, on this service's sessions. It is called the way its Pages Router handler is, with a
 * plain request and response, since its App Router handler works only inside a request that Next serves.
 * @throws AppError not_found for an action or provider that does not exist; whatever the database throws.
 */
export async function answerNextAuth(ctx: Deps, call: NextAuthCall): Promise<NextAuthAnswer> {
  const failures: unknown[] = [];
  const options = nextAuthOptions(ctx, call.caller, (error) => failures.push(error));
  requireAction(call, options);
  const answer: NextAuthAnswer = { status: 200, headers: {}, cookies: [], body: null };
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
  await nextAuth(options)(
    {
      method: call.method,
      query: { ...withSafeCallback(call.query), nextauth: call.segments },
      cookies: withSafeCallback(parseCookies(call.cookieHeader)),
      // Links are built from the configuration, never from what the caller says its host is.
      headers: { host: new URL(ctx.config.baseUrl).host },
      body: withSafeCallback(call.body),
    },
    response,
  );
  // next-auth would answer a lost database by taking the session cookie away.
  if (failures.length > 0) throw failures[0];
  if (answer.status >= 500) throw new Error(`next-auth answered ${answer.status}: ${answer.body}`);
  return answer;
}

type Handler = (request: object, response: object) => Promise<void>;
/** The package is CommonJS: its default export is one level down where Node itself loads it. */
const nextAuth = ((NextAuthModule as { default?: unknown }).default ?? NextAuthModule) as (
  options: NextAuthOptions,
) => Handler;

const CALLBACK_URLS = ["callbackUrl", "next-auth.callback-url", "__Secure-next-auth.callback-url"];

/** next-auth parses these as addresses, whatever they are, and fails on what is none. */
function withSafeCallback<T extends Record<string, unknown>>(given: T): T {
  const isSafe = (value: unknown) =>
    typeof value === "string" && (value.startsWith("/") || (/^https?:/.test(value) && URL.canParse(value)));
  const kept = Object.entries(given).filter(([name, value]) => !CALLBACK_URLS.includes(name) || isSafe(value));
  return Object.fromEntries(kept) as T;
}

function requireAction({ method, segments }: NextAuthCall, options: NextAuthOptions): void {
  const [action = "", provider, ...more] = segments;
  const known = ACTIONS[method].includes(action) && more.length === 0;
  const providerFits =
    provider === undefined
      ? action !== "callback"
      : WITH_PROVIDER.includes(action) &&
        options.providers.some(({ id, type }) => id === provider && !isCredentialsPage(method, action, type));
  if (!known || !providerFits) throw new AppError("not_found");
}

/** A password is posted; a GET of its callback is nothing. */
function isCredentialsPage(method: string, action: string, type: string): boolean {
  return method === "GET" && action === "callback" && type === "credentials";
}

/** next-auth's options for one request. `onFailure` hears what next-auth would swallow. */
function nextAuthOptions(ctx: Deps, caller: Caller, onFailure: (error: unknown) => void): NextAuthOptions {
  const { config } = ctx;
  const guarded = async <T>(run: () => Promise<T | null>): Promise<T | null> => {
    try {
      return await run();
    } catch (error) {
      if (!isRefusal(error)) onFailure(error);
      return null;
    }
  };
  return {
    secret: config.secret,
    useSecureCookies: config.baseUrl.startsWith("https:"),
    cookies: { sessionToken: { name: sessionCookieName(config), options: sessionCookieOptions(config) } },
    session: { strategy: "jwt", maxAge: COOKIE_SECONDS },
    providers: [
      {
        id: "credentials",
        name: "E-mail and password",
        type: "credentials",
        credentials: { email: { label: "E-mail", type: "email" }, password: { label: "Password", type: "password" } },
        // A thrown message would end up in a redirect's URL.
        authorize: (given) =>
          guarded(async () => {
            const parsed = SignIn.safeParse(given);
            return parsed.success ? verifyPassword(ctx, parsed.data, caller) : null;
          }),
      },
    ],
    jwt: {
      encode: async ({ token }) => {
        const { sub, sid, epoch } = (token ?? {}) as unknown as Claims;
        return encodeToken({ sub, sid, epoch }, config.secret, COOKIE_SECONDS);
      },
      decode: ({ token }) => guarded(() => decodeSession(ctx, token)),
    },
    callbacks: {
      jwt: async ({ token, user }) => {
        if (!user) return token;
        const how = { transport: "cookie" as const, deviceName: null };
        const issued = await guarded(() => issueSession(ctx, user as AccountUser, how, caller));
        return issued?.claims ?? token;
      },
      session: ({ session, token }) => describeSession(session, token),
    },
    events: {
      signOut: async ({ token }) => {
        await guarded(async () => {
          await revokeSession(ctx, String(token.sid));
          await recordSecurityEvent(ctx.db, ctx.now(), String(token.sub), "signed_out", caller);
        });
      },
    },
    logger: {
      error: (code) => ctx.log.debug({ code }, "next-auth refused"),
      warn: (code) => ctx.log.debug({ code }, "next-auth warns"),
      debug: () => {},
    },
  };
}

/** Whether the caller was refused; being busy is no verdict on the password. */
function isRefusal(error: unknown): boolean {
  return isAppError(error) && error.code !== "overloaded" && error.code !== "unavailable";
}

type AccountUser = { id: string; sessionEpoch: number };

async function decodeSession(ctx: Deps, token: string | undefined) {
  const found = token ? await findSession(ctx, token) : null;
  if (!found) return null;
  const { name, email, image } = found.account;
  return { ...found.claims, name, email, picture: image, sessionExpiresAt: found.session.expiresAt.toISOString() };
}

/** What GET /api/auth/session says. */
function describeSession(session: Session, token: { sub?: string; sessionExpiresAt?: unknown }) {
  return {
    ...session,
    user: { ...session.user, id: token.sub },
    expires: typeof token.sessionExpiresAt === "string" ? token.sessionExpiresAt : session.expires,
  };
}

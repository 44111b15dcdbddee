import { createHash } from "node:crypto";
import type { NextAuthOptions, Session } from "next-auth";
import type { JWT } from "next-auth/jwt";
import { z } from "zod";
import type { Context } from "../../context";
import type { AppError } from "../../errors";
import { logRefusal } from "../../platform/audit/refusals";
import { networkOf } from "../../platform/audit/security-events";
import { Email } from "../../platform/email";
import {
  type CookieConfig,
  cookieName,
  isSecure,
  parseCookies,
  sessionCookieOptions,
} from "../../platform/http/cookies";
import { decryptToken } from "../../platform/keys/encrypted-token";
import type { Caller } from "../../principal";
import { verifyPassword } from "../passwords/verify-password";
import { issueSession } from "../sessions/issue-session";
import { type Claims, encodeToken, findSession, LIFETIMES, revokeSession, signOut } from "../sessions/sessions";
import { oauthProviders } from "../sign-in-providers/providers";
import { type AdapterAccount, createAdapter } from "./adapter";
import { catchRefusal, type OnFailure, orNull } from "./catch-refusal";
import {
  authenticationOf,
  COOKIE_SESSION,
  type NextAuthDeps,
  type SignInCall,
  signInCallback,
} from "./sign-in-callback";

type NextAuthCookies = Omit<NonNullable<NextAuthOptions["cookies"]>, "sessionToken">;

/** The lifetime of next-auth's cookies for state and PKCE. */
const SIGN_IN_TTL_SECONDS = 15 * 60;

/**
 * The cookies of next-auth besides the session's, with `__Host-` over https: otherwise another host of the domain could
 * set them, and finish its own sign-in in this browser. `cookieHeader` is that of a provider's callback.
 */
function nextAuthCookies(config: CookieConfig, cookieHeader: string | null = null): NextAuthCookies {
  const isStartedByOldBuild = isSecure(config) && hasOnlyOldState(cookieHeader);
  const prefix = isStartedByOldBuild ? "__Secure-" : isSecure(config) ? "__Host-" : "";
  const cookie = (name: string, options = {}) => ({
    name: `${prefix}next-auth.${name}`,
    options: { ...sessionCookieOptions(config), ...options },
  });
  return {
    callbackUrl: cookie("callback-url"),
    csrfToken: cookie("csrf-token"),
    pkceCodeVerifier: cookie("pkce.code_verifier", { maxAge: SIGN_IN_TTL_SECONDS }),
    state: cookie("state", { maxAge: SIGN_IN_TTL_SECONDS }),
    nonce: cookie("nonce"),
  };
}

/**
 * Version 1.0.0 named these cookies `__Secure-`. A sign-in that it started before an upgrade is finished. The values are
 * encrypted for their name, for 15 minutes: once no instance has the old version, no old value is valid.
 */
function hasOnlyOldState(cookieHeader: string | null): boolean {
  const { "__Secure-next-auth.state": old, "__Host-next-auth.state": current } = parseCookies(cookieHeader);
  return old !== undefined && current === undefined;
}

type Call = SignInCall & { segments: string[]; cookieHeader: string | null; secrets: CallSecrets };

/** The page that asks to check the mailbox, and to which the emailed link leads. */
export const VERIFY_PAGE = "/verify";
const PAGES = { signIn: "/sign-in", error: "/sign-in", signOut: "/account", verifyRequest: VERIFY_PAGE };
const COOKIE_MAX_AGE_SECONDS = LIFETIMES.cookie.absoluteMs / 1000;
const MAX_REASON_LENGTH = 200;

const SignIn = z.object({ email: Email, password: z.string().min(1).max(1024) });

/** next-auth's options for one call. `onFailure` receives the errors that next-auth would swallow. */
export function nextAuthOptions(ctx: NextAuthDeps, call: Call, onFailure: OnFailure): NextAuthOptions {
  const { config } = ctx;
  return {
    secret: call.secrets.csrf,
    useSecureCookies: config.baseUrl.startsWith("https:"),
    cookies: {
      sessionToken: { name: cookieName(config, "session"), options: sessionCookieOptions(config) },
      ...nextAuthCookies(config, call.segments[0] === "callback" ? call.cookieHeader : null),
    },
    session: { strategy: "jwt", maxAge: COOKIE_MAX_AGE_SECONDS },
    pages: PAGES,
    adapter: createAdapter(ctx, call, onFailure),
    providers: providersFor(ctx, call, onFailure),
    jwt: {
      secret: call.secrets.checks,
      maxAge: COOKIE_MAX_AGE_SECONDS,
      encode: ({ token }) => {
        const { sub, sid, epoch } = (token ?? {}) as unknown as Claims;
        return encodeToken({ sub, sid, epoch }, config.secrets, COOKIE_MAX_AGE_SECONDS);
      },
      decode: ({ token }) => orNull(onFailure, () => decodeSession(ctx, token)),
    },
    callbacks: callbacks(ctx, call, onFailure),
    events: {
      // `token` is null if the session has ended already.
      signOut: async ({ token }: { token: JWT | null }) => {
        if (token) await orNull(onFailure, () => signOut(ctx, token as unknown as Claims, call.caller));
      },
    },
    logger: {
      error: (code, reason) => logError(ctx, code, reason, call.caller),
      warn: (code) => ctx.log.debug({ code }, "next-auth warning"),
      debug: () => {},
    },
  };
}

/** The providers that the path of a call can name. Most calls only read a session and have none. */
export function providersFor(
  ctx: NextAuthDeps,
  call: Pick<Call, "segments" | "caller">,
  onFailure: OnFailure = () => {},
): NextAuthOptions["providers"] {
  const [action = "", name] = call.segments;
  // Registration and login send the emailed links, so `signin/email` does not exist.
  if (action === "callback" && name === "email") return [emailLink];
  if (!["providers", "signin", "callback"].includes(action)) return [];
  return [
    {
      id: "credentials",
      name: "Email and password",
      type: "credentials",
      credentials: { email: { label: "Email", type: "email" }, password: { label: "Password", type: "password" } },
      authorize: (given) => authorizePassword(ctx, given, call.caller, onFailure),
    },
    ...oauthProviders(ctx.config, ctx.now()),
  ];
}

/** The provider that confirms emailed tokens. It sends nothing. */
const emailLink: NextAuthOptions["providers"][number] = {
  id: "email",
  name: "Email",
  type: "email",
  server: "",
  from: "",
  maxAge: 0,
  sendVerificationRequest: () => {},
  options: {},
};

/** Returns null for a wrong password. next-auth puts a thrown message into a redirect's URL: only codes are thrown. */
async function authorizePassword(ctx: NextAuthDeps, input: unknown, caller: Caller, onFailure: OnFailure) {
  const parsed = SignIn.safeParse(input);
  if (!parsed.success) return null;
  const logIt = (error: AppError) => logRefusal(ctx, error, caller.ip, { route: "/api/auth/callback/credentials" });
  const outcome = await catchRefusal(onFailure, () => verifyPassword(ctx, parsed.data, caller), logIt);
  if (outcome && "value" in outcome) return outcome.value;
  if (outcome && outcome.refused !== "invalid_credentials") throw new Error(outcome.refused);
  return null;
}

function callbacks(ctx: NextAuthDeps, call: Call, onFailure: OnFailure): NonNullable<NextAuthOptions["callbacks"]> {
  const { caller, currentSession } = call;
  const { config } = ctx;
  return {
    signIn: signInCallback(ctx, call, onFailure),
    redirect: ({ url, baseUrl }) => {
      const { href, origin } = new URL(url, baseUrl);
      return origin === baseUrl || config.AUTH_TRUSTED_ORIGINS.includes(origin) ? href : baseUrl;
    },
    jwt: async ({ token, user, account }) => {
      if (!user) return token;
      const owner = user as AdapterAccount;
      const authentication = authenticationOf(ctx, call, account, owner.id);
      // Every error is a failure, refusals included: without a session there is no sign-in.
      const issued = await issueSession(ctx, owner, { ...COOKIE_SESSION, authentication }, caller).catch(onFailure);
      // The new cookie replaces this session's, so the session ends (OWASP ASVS 5.0, 7.2.4).
      if (issued && currentSession) await orNull(onFailure, () => revokeSession(ctx, currentSession.session.id));
      return issued?.claims ?? token;
    },
    session: ({ session, token }) => describeSession(session, token),
  };
}

async function decodeSession(ctx: NextAuthDeps, token: string | undefined) {
  const found = token ? await findSession(ctx, token) : null;
  if (!found) return null;
  const { name, email, image, role } = found.account;
  return {
    ...found.claims,
    name,
    email,
    picture: image,
    role,
    sessionExpiresAt: found.session.expiresAt.toISOString(),
  };
}

/** The response of GET /api/auth/session. */
function describeSession(session: Session, token: { sub?: string; role?: unknown; sessionExpiresAt?: unknown }) {
  return {
    ...session,
    user: { ...session.user, id: token.sub, role: token.role },
    expires: typeof token.sessionExpiresAt === "string" ? token.sessionExpiresAt : session.expires,
  };
}

/** Logs an error of next-auth: a failed sign-in with a provider as a warning, other refusals for debugging. */
function logError({ log }: NextAuthDeps, code: string, metadata: unknown, { ip }: Caller): void {
  if (!/OAUTH/.test(code)) return void log.debug({ code }, "next-auth refused");
  const { error, providerId } = metadata as { error?: unknown; providerId?: string };
  const { message } = (error ?? metadata) as { message?: unknown };
  // The message of an error that next-auth creates is the callback's `error` parameter.
  const isFromCaller = code === "OAUTH_CALLBACK_HANDLER_ERROR" || metadata instanceof Error;
  const reason = isFromCaller ? toErrorCode(String(message)) : removeQuotedValues(String(message));
  log.warn({ code, provider: providerId, reason, network: networkOf(ip) }, "sign-in with a provider failed");
}

/** An error code (RFC 6749, section 4.1.2.1), or "other": a caller must not choose what is logged. */
function toErrorCode(message: string): string {
  return /^[a-z_]{1,64}$/.test(message) ? message : "other";
}

/** Removes the values that openid-client quotes: the expected ones, and the caller's state and issuer. */
function removeQuotedValues(message: string): string {
  return message.replace(/, (?:expected|got:?) .*/s, "").slice(0, MAX_REASON_LENGTH);
}

/** The secrets that next-auth uses in one call: for its CSRF token, and for the cookies of a sign-in at a provider. */
type CallSecrets = { csrf: string; checks: string };

const CHECK_COOKIE = /next-auth\.(state|nonce|pkce\.code_verifier)$/;
const CSRF_COOKIE = /next-auth\.csrf-token$/;

/**
 * next-auth knows one secret. During a rotation it gets the one that made the browser's cookies, so that a form that was
 * open and a sign-in that was at the provider still succeed. New cookies of a sign-in are made with the first secret.
 */
export async function secretsOfCall(
  { secrets }: Pick<Context["config"], "secrets">,
  { segments, cookieHeader }: { segments: string[]; cookieHeader: string | null },
): Promise<CallSecrets> {
  const [first, ...others] = secrets;
  if (others.length === 0) return { csrf: first, checks: first };
  const cookies = Object.entries(parseCookies(cookieHeader));
  const csrf = secrets.find((secret) =>
    cookies.some(([name, value]) => CSRF_COOKIE.test(name) && isCsrf(value, secret)),
  );
  if (segments[0] !== "callback") return { csrf: csrf ?? first, checks: first };
  for (const secret of secrets) {
    for (const [name, value = ""] of cookies) {
      if (!CHECK_COOKIE.test(name) || !(await decryptToken([secret], value, name))) continue;
      return { csrf: csrf ?? first, checks: secret };
    }
  }
  return { csrf: csrf ?? first, checks: first };
}

/** Whether a CSRF cookie, "token|hash", was made with a secret. next-auth compares it again. */
function isCsrf(cookie: string | undefined, secret: string): boolean {
  const [token, hash] = cookie?.split("|") ?? [];
  return hash !== undefined && createHash("sha256").update(`${token}${secret}`).digest("hex") === hash;
}

import type { NextAuthOptions, Session } from "next-auth";
import type { JWT } from "next-auth/jwt";
import { z } from "zod";
import type { Caller } from "../../audit/caller";
import type { Context } from "../../context";
import { sessionCookieName, sessionCookieOptions } from "../cookie";
import { Email } from "../email";
import { linkOrCreateAccount } from "../oauth/link-or-create-account";
import { parseProfile } from "../oauth/profile";
import { issuerOf, oauthProviders } from "../oauth/providers";
import { findSession, revokeSession } from "../sessions/sessions";
import { signOut } from "../sessions/sign-out";
import { type Claims, encodeToken } from "../sessions/token";
import { issueSession, verifyPassword } from "../sign-in";
import { type MatchedRegistration, requireVerifiedEmail } from "../verification/email-verification";
import { type AdapterAccount, createAdapter } from "./adapter";
import { attempt, type OnFailure, orNull } from "./guard";
import type { PendingIdentity } from "./pending-identity";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "hasher" | "limits" | "log" | "emails" | "now" | "removeDevices">;
type Found = Awaited<ReturnType<typeof findSession>>;

/**
 * What the options of one call depend on. `current` is the session that the browser came with, `startedBy` the id of
 * the one with which its way to a provider began.
 */
type Call = {
  segments: string[];
  caller: Caller;
  current: Found;
  startedBy: string | undefined;
  /** The claim that the holder of a mailed link proved. */
  proven: MatchedRegistration | null;
  /** Filled with the identity of a sign-in that has to wait until the address is verified. */
  unverified: PendingIdentity[];
};

/** Where somebody reads that there is mail, and to where the link in it leads. */
export const VERIFY_PAGE = "/verify";
const PAGES = { signIn: "/sign-in", error: "/sign-in", signOut: "/account", verifyRequest: VERIFY_PAGE };
const COOKIE_SECONDS = 30 * 24 * 60 * 60;
const REASON_LENGTH = 200;

const SignIn = z.object({ email: Email, password: z.string().min(1).max(1024) });

/** next-auth's options for one call. `onFailure` hears what next-auth would swallow. */
export function nextAuthOptions(ctx: Deps, call: Call, onFailure: OnFailure): NextAuthOptions {
  const { config } = ctx;
  return {
    secret: config.secret,
    useSecureCookies: config.baseUrl.startsWith("https:"),
    cookies: { sessionToken: { name: sessionCookieName(config), options: sessionCookieOptions(config) } },
    session: { strategy: "jwt", maxAge: COOKIE_SECONDS },
    pages: PAGES,
    adapter: createAdapter(ctx, call, onFailure),
    providers: providersFor(ctx, call, onFailure),
    jwt: {
      secret: config.secret,
      maxAge: COOKIE_SECONDS,
      encode: ({ token }) => {
        const { sub, sid, epoch } = (token ?? {}) as unknown as Claims;
        return encodeToken({ sub, sid, epoch }, config.secret, COOKIE_SECONDS);
      },
      decode: ({ token }) => orNull(onFailure, () => decodeSession(ctx, token)),
    },
    callbacks: callbacks(ctx, call, onFailure),
    events: {
      // null where the session has ended: there is nothing to sign out.
      signOut: async ({ token }: { token: JWT | null }) => {
        if (token) await orNull(onFailure, () => signOut(ctx, token as unknown as Claims, call.caller));
      },
    },
    logger: {
      error: (code, reason) => logFault(ctx, code, reason),
      warn: (code) => ctx.log.debug({ code }, "next-auth warns"),
      debug: () => {},
    },
  };
}

/** The providers that the path of a call may name: none for most calls, which only read a session. */
export function providersFor(
  ctx: Deps,
  call: Pick<Call, "segments" | "caller">,
  onFailure: OnFailure = () => {},
): NextAuthOptions["providers"] {
  const [action = "", name] = call.segments;
  // The links are mailed by register and login, so nobody can ask for one here.
  if (action === "callback" && name === "email") return [emailLink];
  if (!["providers", "signin", "callback"].includes(action)) return [];
  return [
    {
      id: "credentials",
      name: "E-mail and password",
      type: "credentials",
      credentials: { email: { label: "E-mail", type: "email" }, password: { label: "Password", type: "password" } },
      authorize: (given) => authorize(ctx, given, call.caller, onFailure),
    },
    ...oauthProviders(ctx.config, ctx.now()),
  ];
}

/** All that next-auth has to know to take a mailed link back. */
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

/** Anything thrown ends up in a redirect's URL: so nothing but the code of a refusal is, and no wrong password's. */
async function authorize(ctx: Deps, given: unknown, caller: Caller, onFailure: OnFailure) {
  const parsed = SignIn.safeParse(given);
  if (!parsed.success) return null;
  const outcome = await attempt(onFailure, () => verifyPassword(ctx, parsed.data, caller));
  if (outcome && "value" in outcome) return outcome.value;
  if (outcome && outcome.refused !== "invalid_credentials") throw new Error(outcome.refused);
  return null;
}

function callbacks(ctx: Deps, call: Call, onFailure: OnFailure): NonNullable<NextAuthOptions["callbacks"]> {
  const { caller, current } = call;
  const { config } = ctx;
  return {
    signIn: async ({ account, profile }) => {
      if (account?.type !== "oauth") return true;
      const outcome = await attempt(onFailure, async () => {
        const issuer = issuerOf(config, account.provider);
        const identity = { ...parseProfile(account.provider, profile), issuer };
        const admitted = await linkOrCreateAccount(ctx, identity, sessionOf(call), caller);
        if (config.AUTH_REQUIRE_VERIFIED_EMAIL && admitted.emailVerifiedAt === null) call.unverified.push(identity);
        await requireVerifiedEmail(ctx, admitted, caller);
      });
      return outcome && "refused" in outcome
        ? `${config.baseUrl}/api/auth/error?error=${outcome.refused}`
        : outcome !== null;
    },
    redirect: ({ url, baseUrl }) => {
      const { href, origin } = new URL(url, baseUrl);
      return origin === baseUrl || config.AUTH_TRUSTED_ORIGINS.includes(origin) ? href : baseUrl;
    },
    jwt: async ({ token, user }) => {
      if (!user) return token;
      const how = { transport: "cookie" as const, deviceName: null };
      // Whatever keeps a session from being opened: without one there is no signing in.
      const issued = await issueSession(ctx, user as AdapterAccount, how, caller).catch(onFailure);
      // The session whose cookie is replaced is one no more (OWASP ASVS 5.0, 7.2.4).
      if (issued && current) await orNull(onFailure, () => revokeSession(ctx, current.session.id));
      return issued?.claims ?? token;
    },
    session: ({ session, token }) => describeSession(session, token),
  };
}

/** The session that began the way to the provider: undefined where there was none, null where it has ended since. */
function sessionOf({ startedBy, current }: Call) {
  if (startedBy === undefined) return undefined;
  if (current?.session.id !== startedBy) return null;
  return { accountId: current.account.id, authenticatedAt: current.session.authenticatedAt };
}

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

/** What a provider does not do as it should is for the operator to know; the rest is everyday refusals. */
function logFault({ log }: Deps, code: string, metadata: unknown): void {
  if (!/OAUTH/.test(code)) return void log.debug({ code }, "next-auth refused");
  const { error, providerId } = metadata as { error?: unknown; providerId?: string };
  const { message } = (error ?? metadata) as { message?: unknown };
  // An error of next-auth's own making says what stood in ?error=…
  const isCallers = code === "OAUTH_CALLBACK_HANDLER_ERROR" || metadata instanceof Error;
  const reason = isCallers ? errorCodeIn(String(message)) : withoutValues(String(message));
  log.warn({ code, provider: providerId, reason }, "sign-in by a provider failed");
}

/** What looks like an error code (RFC 6749, 4.1.2.1): whoever calls could have anything else written into the log. */
function errorCodeIn(words: string): string {
  return /^[a-z_]{1,64}$/.test(words) ? words : "other";
}

/** openid-client quotes what it found, the caller's state and issuer too, and what should have been there. */
function withoutValues(words: string): string {
  return words.replace(/, (?:expected|got:?) .*/s, "").slice(0, REASON_LENGTH);
}

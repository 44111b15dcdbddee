import type { CallbacksOptions, Account as ProviderAccount } from "next-auth";
import type { Context } from "../../context";
import type { ErrorCode } from "../../errors";
import { logRefusal } from "../../platform/audit/refusals";
import type { Caller } from "../../principal";
import { type MatchedRegistration, requireVerifiedEmail } from "../email-verification";
import type { SecondFactorChallenge } from "../second-factor/challenges";
import { secondFactorPage } from "../second-factor/challenges";
import { challengeSignIn } from "../second-factor/complete-sign-in";
import {
  type Amr,
  type Authentication,
  BY_PASSWORD,
  BY_PROVIDER,
  isFresh,
  MAX_AUTHENTICATION_AGE_SECONDS,
} from "../sessions/authentication";
import type { findSession } from "../sessions/sessions";
import { storeAppleToken } from "../sign-in-providers/apple-tokens";
import { linkOrCreateAccount } from "../sign-in-providers/link-or-create-account";
import { type ProviderIdentity, parseProfile } from "../sign-in-providers/profile";
import { issuerOf } from "../sign-in-providers/providers";
import type { AdapterAccount } from "./adapter";
import { catchRefusal, type OnFailure } from "./catch-refusal";

export type NextAuthDeps = Pick<
  Context,
  "config" | "db" | "dbNow" | "hasher" | "limits" | "log" | "emails" | "now" | "removeDevices" | "webhooks"
>;

export type SignInCall = {
  caller: Caller;
  /** The session of the browser's cookie. */
  currentSession: Awaited<ReturnType<typeof findSession>>;
  /** The id of the session that started the sign-in at a provider. */
  linkingSessionId: string | undefined;
  /** The registration that an emailed token confirms. */
  registration: MatchedRegistration | null;
  /** The page that follows, as the caller sent it. */
  callbackUrl?: string;
  /** Output: the identity of a sign-in that is refused until the email is verified. */
  unverifiedIdentities: ProviderIdentity[];
  /** Output: the challenge of a sign-in that a second factor has to complete. */
  challenges: SecondFactorChallenge[];
};

/** How a session is issued to a browser. */
export const COOKIE_SESSION = { transport: "cookie", deviceName: null } as const;

/**
 * next-auth's callback for a sign-in whose first factor is verified. Returns true if the session can be issued,
 * otherwise the page that says why not: for an account with a second factor, the one that asks for it.
 */
export function signInCallback(ctx: NextAuthDeps, call: SignInCall, onFailure: OnFailure): CallbacksOptions["signIn"] {
  const { baseUrl } = ctx.config;
  return async ({ user, account, profile }) => {
    const decide = async () => {
      const isByProvider = account?.type === "oauth";
      const owner = isByProvider ? await accountOf(ctx, call, account, profile) : (user as AdapterAccount);
      return challengeSignIn(ctx, owner, authenticationOf(ctx, call, account, owner.id), COOKIE_SESSION);
    };
    const route = `/api/auth/callback/${account?.provider}`;
    const outcome = await catchRefusal(onFailure, decide, (error) => logRefusal(ctx, error, call.caller.ip, { route }));
    if (outcome === null) return false;
    if ("refused" in outcome) return baseUrl + refusalPage(outcome.refused);
    if (outcome.value === null) return true;
    call.challenges.push(outcome.value);
    return baseUrl + secondFactorPage({ callbackUrl: call.callbackUrl, error: "second_factor_required" });
  };
}

/** The page that explains a refusal. A session that is too old to link a provider can be renewed there. */
function refusalPage(error: ErrorCode): string {
  if (error !== "reauthentication_required") return `/api/auth/error?error=${error}`;
  return `/confirm?${new URLSearchParams({ callbackUrl: "/account", error })}`;
}

/** The account of a provider's user. @throws AppError as `linkOrCreateAccount`; email_not_verified, account_disabled */
async function accountOf(ctx: NextAuthDeps, call: SignInCall, signedIn: ProviderAccount, profile: unknown) {
  const { provider, refresh_token: refreshToken } = signedIn;
  const identity = { ...parseProfile(provider, profile), issuer: issuerOf(ctx.config, provider) };
  const account = await linkOrCreateAccount(ctx, identity, linkingSessionOf(call), call.caller);
  await storeAppleToken(ctx, identity, ctx.config.AUTH_APPLE_ID, refreshToken);
  if (ctx.config.AUTH_REQUIRE_VERIFIED_EMAIL && account.emailVerifiedAt === null) {
    call.unverifiedIdentities.push(identity);
  }
  await requireVerifiedEmail(ctx, account, call.caller);
  return account;
}

/** The session that started the sign-in at the provider: undefined if there was none, null if it has ended since. */
function linkingSessionOf({ linkingSessionId, currentSession }: SignInCall) {
  if (linkingSessionId === undefined) return undefined;
  return currentSession?.session.id === linkingSessionId ? currentSession : null;
}

/**
 * How a sign-in authenticates an account. Whoever gave a second factor a few minutes ago, in the session that the new
 * one replaces, is not asked for another, for example to add a provider.
 */
export function authenticationOf(
  { now }: Pick<NextAuthDeps, "now">,
  { currentSession, registration }: Pick<SignInCall, "currentSession" | "registration">,
  provider: Pick<ProviderAccount, "type"> | null,
  accountId: string,
): Authentication {
  const isByProvider = provider?.type === "oauth" || registration?.identity !== undefined;
  const given = isByProvider ? BY_PROVIDER : BY_PASSWORD;
  if (currentSession?.account.id !== accountId) return given;
  const { session } = currentSession;
  if (!isFresh(session, { aal: 2, maxAgeSeconds: MAX_AUTHENTICATION_AGE_SECONDS, now: now() })) return given;
  return {
    aal: 2,
    amr: [...new Set([...(session.amr as Amr[]), ...given.amr])],
    authenticatedAt: session.authenticatedAt,
  };
}

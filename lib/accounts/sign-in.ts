import { verifyPassword } from "../auth/passwords/verify-password";
import type { PendingChallenge } from "../auth/second-factor/challenges";
import { completeChallenge, completeSignIn } from "../auth/second-factor/complete-sign-in";
import type { SecondFactorProof } from "../auth/second-factor/verify-second-factor";
import { BY_PASSWORD } from "../auth/sessions/authentication";
import type { Transport } from "../auth/sessions/sessions";
import type { Context } from "../context";
import type { Caller } from "../principal";
import { setLocale } from "./profile";
import { type Login, toUser } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/** The errors of `signIn`. */
export const SIGN_IN_ERRORS = [
  "invalid_credentials",
  "second_factor_required",
  "account_disabled",
  "email_not_verified",
  "rate_limited",
  "overloaded",
] as const;

/**
 * Signs in with a password. Returns a challenge if the account has a second factor.
 * @throws AppError invalid_credentials, account_disabled, email_not_verified, rate_limited, overloaded
 */
export async function signIn(ctx: Deps, login: Login, transport: Transport, caller: Caller) {
  const account = await verifyPassword(ctx, login, caller);
  const options = { transport, deviceName: login.deviceName ?? null };
  const outcome = await completeSignIn(ctx, account, BY_PASSWORD, options, caller);
  if ("challenge" in outcome) return outcome;
  if (login.locale) await setLocale(ctx, account.id, login.locale);
  const { session, token } = outcome;
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}

/**
 * Completes a sign-in by its challenge and a second factor.
 * @throws AppError invalid_challenge, invalid_code, account_disabled, rate_limited
 */
export async function completeSignInWithFactor(
  ctx: Deps,
  challenge: PendingChallenge,
  proof: SecondFactorProof,
  caller: Caller,
) {
  const { account, session, token } = await completeChallenge(ctx, challenge, proof, caller);
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}

import type { Context, Tx } from "../../context";
import { AppError, type ErrorExtras, isAppError } from "../../errors";
import type { Caller } from "../../principal";
import type { Authentication } from "../sessions/authentication";
import { type AuthenticatedAccount, issueSession, storeNewHash } from "../sessions/issue-session";
import type { SessionOptions } from "../sessions/sessions";
import { clearAttempt } from "../sign-in-throttle";
import { consumeChallenge, createChallenge, type PendingChallenge, type SecondFactorChallenge } from "./challenges";
import { type SecondFactorProof, verifySecondFactor } from "./verify-second-factor";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

type Issued = Awaited<ReturnType<typeof issueSession>>;

/**
 * Completes a sign-in whose first factor is verified: issues a session, or returns a challenge if the account has a
 * second factor that `authentication` does not include. There is no session until the challenge is completed.
 * @throws AppError invalid_credentials if the account was deleted, or its password reset, since
 */
export async function completeSignIn(
  ctx: Deps,
  account: AuthenticatedAccount,
  authentication: Authentication,
  options: SessionOptions,
  caller: Caller,
): Promise<Issued | SecondFactorChallenge> {
  const challenge = await challengeSignIn(ctx, account, authentication, options);
  return challenge ?? issueSession(ctx, account, { ...options, authentication }, caller);
}

/** The first half of `completeSignIn`: null if the session can be issued. */
export async function challengeSignIn(
  ctx: Deps,
  account: AuthenticatedAccount,
  authentication: Authentication,
  options: SessionOptions,
): Promise<SecondFactorChallenge | null> {
  if (authentication.aal === 2) return null;
  const challenge = await createChallenge(ctx, account, authentication, options);
  if (challenge === null) return null;
  // The password is correct. Wrong codes have a counter of their own.
  await clearAttempt(ctx.db, account.attempt ?? []);
  if (account.newHash) await storeNewHash(ctx.db, account.id, account.newHash);
  return challenge;
}

/** The error that carries the challenge to a client that signs in by the API. */
export function secondFactorRequired(challenge: SecondFactorChallenge, extras: ErrorExtras = {}): AppError {
  return new AppError("second_factor_required", { ...extras, fields: { ...challenge } });
}

/**
 * Completes a challenge with a second factor, and issues the session that its sign-in asked for.
 * @throws AppError invalid_challenge if it was used, or the account was deleted or its password reset, since;
 *   invalid_code, rate_limited
 */
export async function completeChallenge(
  ctx: Deps,
  challenge: PendingChallenge,
  proof: SecondFactorProof,
  caller: Caller,
) {
  const factors = await verifySecondFactor(ctx, challenge.id, proof, "sign-in", caller);
  const account = await ctx.db.account.findUnique({ where: { id: challenge.id } });
  if (!account) throw new AppError("invalid_challenge");
  const { transport, deviceName, sessionEpoch } = challenge;
  const authentication: Authentication = { aal: 2, amr: [...challenge.amr, ...factors, "mfa"] };
  try {
    const options = { transport, deviceName, authentication };
    // The removal of a passkey or a provider locks the account and deletes its challenges.
    const precondition = (tx: Tx) => consumeChallenge({ db: tx }, challenge);
    return { account, ...(await issueSession(ctx, { ...account, sessionEpoch, precondition }, options, caller)) };
  } catch (error) {
    throw isAppError(error) && error.code === "invalid_credentials" ? new AppError("invalid_challenge") : error;
  }
}

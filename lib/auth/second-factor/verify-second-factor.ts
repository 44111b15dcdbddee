import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller } from "../../principal";
import type { PasskeyAssertion } from "../passkeys/schema";
import { verifyPasskeyAssertion } from "../passkeys/verify-assertion";
import type { Amr } from "../sessions/authentication";
import { beginSecondFactor, clearAttempt, type FactorPlace, recordFailure, refundAttempt } from "../sign-in-throttle";
import { consumeRecoveryCode, isUnusedRecoveryCode } from "./recovery-codes";
import { consumeTotpCode } from "./totp";

type Deps = Pick<Context, "config" | "db" | "limits" | "now">;

/** What proves a second factor: one of these. */
export type SecondFactorProof = { code?: string; recoveryCode?: string; passkey?: PasskeyAssertion };

/**
 * Checks a second factor of an account: a code of its authenticator app or a recovery code, each of which works once,
 * or a passkey. Wrong codes are counted by account and place, and each makes the next attempt wait longer. Returns how
 * the factor authenticates.
 * @throws AppError invalid_code, passkey_invalid, rate_limited
 */
export async function verifySecondFactor(
  ctx: Deps,
  accountId: string,
  { code, recoveryCode, passkey }: SecondFactorProof,
  place: FactorPlace,
  caller: Caller,
): Promise<Amr[]> {
  if (passkey !== undefined) {
    const { amr } = await verifyPasskeyAssertion(ctx, passkey, { accountId, purpose: "second-factor" }, caller);
    return amr.filter((method) => method !== "mfa"); // several factors, with the first one
  }
  if (code !== undefined) {
    await checkCounted(ctx, { kind: "totp", accountId, place }, () => consumeTotpCode(ctx, accountId, code), caller);
    return ["otp"];
  }
  const consume = () => ctx.db.$transaction((tx) => consumeAndRecord(ctx, tx, accountId, recoveryCode ?? "", caller));
  await checkCounted(ctx, { kind: "recovery_code", accountId, place }, consume, caller);
  return ["recovery"];
}

/**
 * Checks a recovery code as `verifySecondFactor` does, without using it up. Returns what uses it up in the transaction of
 * what it is for, and throws `invalid_code` if it was used meanwhile.
 * @throws AppError invalid_code, rate_limited
 */
export async function checkRecoveryCode(
  ctx: Deps,
  accountId: string,
  typed: string,
  place: FactorPlace,
  caller: Caller,
): Promise<(tx: Tx) => Promise<void>> {
  const isUnused = () => isUnusedRecoveryCode(ctx.db, accountId, typed);
  await checkCounted(ctx, { kind: "recovery_code", accountId, place }, isUnused, caller);
  return async (tx) => {
    if (!(await consumeAndRecord(ctx, tx, accountId, typed, caller))) throw new AppError("invalid_code");
  };
}

/** Uses up a recovery code, with its event. Returns whether it was the account's and unused. */
async function consumeAndRecord(
  { now }: Pick<Deps, "now">,
  tx: Tx,
  accountId: string,
  typed: string,
  caller: Caller,
): Promise<boolean> {
  const isCorrect = await consumeRecoveryCode(tx, now(), accountId, typed);
  if (isCorrect) await recordSecurityEvent(tx, now(), accountId, "recovery_code_used", caller);
  return isCorrect;
}

async function checkCounted(
  ctx: Deps,
  { kind, accountId, place }: { kind: "totp" | "recovery_code"; accountId: string; place: FactorPlace },
  check: () => Promise<boolean>,
  caller: Caller,
): Promise<void> {
  const attempt = await beginSecondFactor(ctx, kind, accountId, place);
  const isCorrect = await check().catch(async (error: unknown) => {
    await refundAttempt(ctx, attempt);
    throw error;
  });
  if (isCorrect) return clearAttempt(ctx.db, attempt);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, ctx.now(), attempt);
    await recordSecurityEvent(tx, ctx.now(), accountId, "second_factor_failed", caller);
  });
  throw new AppError("invalid_code");
}

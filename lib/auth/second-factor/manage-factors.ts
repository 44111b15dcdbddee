import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller, Principal } from "../../principal";
import { requireStepUp, type StepUpProof } from "../step-up";
import { hasSecondFactor, removeTotpAndRecoveryCodes } from "./factors";
import { replaceRecoveryCodes } from "./recovery-codes";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "hasher" | "limits" | "now" | "removeDevices">;

/**
 * Removes the caller's authenticator app, with the recovery codes that replace it.
 * @throws AppError not_found, reauthentication_required, rate_limited
 */
export async function removeTotp(ctx: Deps, principal: Principal, proof: StepUpProof, caller: Caller): Promise<void> {
  const { id, email } = principal.account;
  await requireStepUp(ctx, principal, proof, caller);
  await ctx.db.$transaction(async (tx) => {
    if (!(await removeTotpAndRecoveryCodes(tx, id))) throw new AppError("not_found");
    await recordSecurityEvent(tx, ctx.now(), id, "totp_removed", caller);
    await ctx.emails.enqueue(tx, "factor_removed", email, { factor: "totp" });
  });
  ctx.emails.wake();
}

/**
 * Replaces the caller's recovery codes; the old ones no longer work. Returns the new ones, which cannot be retrieved again.
 * @throws AppError no_second_factor, reauthentication_required, rate_limited
 */
export async function renewRecoveryCodes(
  ctx: Deps,
  principal: Principal,
  proof: StepUpProof,
  caller: Caller,
): Promise<string[]> {
  const { id, email } = principal.account;
  await requireStepUp(ctx, principal, proof, caller);
  const codes = await ctx.db.$transaction(async (tx) => {
    // Of two simultaneous calls, the codes of the second are valid.
    await tx.$queryRaw`SELECT 1 FROM "Account" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
    if (!(await hasSecondFactor(tx, id))) throw new AppError("no_second_factor");
    await recordSecurityEvent(tx, ctx.now(), id, "recovery_codes_renewed", caller);
    await ctx.emails.enqueue(tx, "factor_added", email, { factor: "recovery_codes" });
    return replaceRecoveryCodes(tx, ctx.now(), id);
  });
  ctx.emails.wake();
  return codes;
}

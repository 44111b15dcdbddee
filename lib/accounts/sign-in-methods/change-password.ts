import { z } from "zod";
import { lockOwnAccount } from "../../auth/account-checks";
import { revokePasswordLinks } from "../../auth/emailed-token";
import { hashPassword } from "../../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../../auth/passwords/policy";
import { recognizeClient } from "../../auth/recognized-clients";
import { sessionToken } from "../../auth/sessions/sessions";
import { requireStepUp, StepUpProof } from "../../auth/step-up";
import type { Context, Tx } from "../../context";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller, Principal } from "../../principal";
import { revokeOtherSessionsInTx } from "../sessions";

type Deps = Parameters<typeof requireStepUp>[0] &
  Pick<Context, "breaches" | "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

export const ChangePassword = StepUpProof.extend({
  newPassword: z.string().min(1).max(1024),
  keepOtherSessions: z.boolean().optional().describe("By default the account's other sessions end."),
});
export type ChangePassword = z.infer<typeof ChangePassword>;

/** The form has a checkbox, checked by default; browsers send it only while it is checked. */
export const ChangePasswordForm = StepUpProof.extend({
  newPassword: ChangePassword.shape.newPassword,
  signOutOthers: z.string().optional(),
}).transform(({ signOutOthers, ...change }) => ({ ...change, keepOtherSessions: signOutOthers === undefined }));

export const PasswordChanged = z.object({
  status: z.literal("password_changed"),
  token: z
    .string()
    .optional()
    .describe("Replaces the bearer token of the request, which has ended. Absent if it still works, or is a cookie."),
  tokenType: z.literal("Bearer").optional(),
});

/** The field of the request that policy errors point at. */
const POINTER = "/newPassword";

/**
 * Changes the caller's password, or sets the first one. An account with a password requires it, however recent its
 * sign-in (OWASP ASVS 5.0, 6.2.3). Ends the account's other sessions, and returns a new token for this one: the
 * incremented epoch also stops sign-ins with the old password that are in progress. With `keepOtherSessions` every
 * token stays valid, and null is returned. Revokes the emailed links that set one.
 * @throws AppError validation_failed for the new password; reauthentication_required; unauthenticated if the session
 *   ended meanwhile; rate_limited, overloaded
 */
export async function changePassword(
  ctx: Deps,
  principal: Principal,
  { newPassword, keepOtherSessions = false, ...proof }: ChangePassword,
  caller: Caller,
): Promise<string | null> {
  const { id } = principal.account;
  const normalized = await checkNewPassword(ctx, newPassword, POINTER);
  const where = { id };
  const { email } = await ctx.db.account.findUniqueOrThrow({ where, select: { email: true } });
  rejectOwnEmail(normalized, email, POINTER);
  await requireStepUp(ctx, principal, proof, caller, { isPasswordRequired: true });
  await ctx.limits.consume("passwordChangeByAccount", id);
  await rejectBreached(ctx, normalized, POINTER);
  const passwordHash = await hashPassword(ctx, normalized);
  const epoch = await ctx.db.$transaction(async (tx) => {
    const epoch = await storePassword(tx, principal, passwordHash, keepOtherSessions);
    if (!keepOtherSessions) await endOtherSessions(ctx, tx, principal, email, caller);
    await recordSecurityEvent(tx, ctx.now(), id, "password_changed", caller);
    await ctx.emails.enqueue(tx, "password_changed", email);
    return epoch;
  });
  ctx.emails.wake();
  return keepOtherSessions ? null : sessionToken(ctx, { sub: id, sid: principal.session.id, epoch });
}

/** Stores the hash if no reset or other change ended the session meanwhile. Returns the account's epoch. */
async function storePassword(tx: Tx, principal: Principal, passwordHash: string, keepOtherSessions: boolean) {
  await lockOwnAccount(tx, principal);
  const { id, sessionEpoch } = principal.account;
  const epoch = keepOtherSessions ? sessionEpoch : sessionEpoch + 1;
  await tx.account.update({ where: { id }, data: { passwordHash, sessionEpoch: epoch } });
  await revokePasswordLinks(tx, id);
  return epoch;
}

/** The clients of the ended sessions are no longer recognized. */
async function endOtherSessions(
  ctx: Deps,
  tx: Tx,
  { account: { id: accountId }, session }: Principal,
  email: string,
  caller: Caller,
): Promise<void> {
  await revokeOtherSessionsInTx(ctx, tx, accountId, session.id, caller);
  await tx.recognizedClient.deleteMany({ where: { accountId } });
  await recognizeClient(tx, ctx, { id: accountId, email }, caller, { hasDeviceCookie: session.via === "cookie" });
}

import { randomInt } from "node:crypto";
import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { consumeEmailLimit } from "../auth/limits/email-limits";
import { findRecognizedClient, recognizeClient } from "../auth/limits/recognized-clients";
import { clearFailures } from "../auth/limits/sign-in-throttle";
import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { revokeAllSessions } from "../auth/sessions/sessions";
import { revokeUnverifiedAccess } from "../auth/verification/email-verification";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { type LinkedIdentity, listIdentities } from "./identities";
import { hashResetToken } from "./password-reset-token";
import type { ConfirmReset } from "./schema";

type Deps = Pick<Context, "breaches" | "config" | "db" | "hasher" | "limits" | "emails" | "now">;

/** Many times as long as a mail keeps the process busy. */
const MAX_SEND_DELAY_MS = 250;

/**
 * Promises a mail with a link for choosing a new password. Whether the address has an account is looked up when
 * the mail is made: until then a known and an unknown one are the same. An address that has had its share of mails is
 * not refused: the link in the latest one works.
 * @throws AppError rate_limited for the caller's network alone, and not for a device that the account recognizes
 */
export async function requestReset(
  { db, limits, emails, now }: Pick<Deps, "db" | "limits" | "emails" | "now">,
  email: string,
  caller: Caller,
): Promise<void> {
  const recognized = await findRecognizedClient({ db, limits, now }, email, caller);
  if (!recognized?.isDevice) await limits.consume("resetRequestByAddress", caller.ip);
  if (!(await consumeEmailLimit({ limits }, "reset", email, caller.ip))) return;
  await emails.enqueue(db, "password_reset", email);
  // The work of sending slows the next request, and there is none for an unknown address: nobody foresees when it comes.
  setTimeout(emails.wake, randomInt(MAX_SEND_DELAY_MS)).unref();
}

/**
 * Sets a new password by the mailed token, once: ends every session and with it its devices, and counts as proof of
 * the mailbox. Does not sign in, but whoever was held back by another's guesses now can, from this client.
 * Returns the providers that sign in to the account as before, for its owner to check.
 * @throws AppError validation_failed for the password, which leaves the token as it is; invalid_or_expired_token
 *   for every fault of the token; rate_limited, overloaded
 */
export async function confirmReset(
  ctx: Deps,
  { token, password }: ConfirmReset,
  caller: Caller,
): Promise<LinkedIdentity[]> {
  const normalized = await checkNewPassword(ctx, password);
  const tokenHash = hashResetToken(token);
  const row = await ctx.db.passwordResetToken.findUnique({
    where: { tokenHash, expiresAt: { gt: ctx.now() } },
    select: { account: { select: { id: true, email: true } } },
  });
  // A good token is counted for itself: whoever shares the client address cannot hold it back.
  if (row) await ctx.limits.consume("resetConfirmByToken", tokenHash);
  else await ctx.limits.consume("resetConfirmByAddress", caller.ip);
  if (!row) throw new AppError("invalid_or_expired_token");
  rejectOwnEmail(normalized, row.account.email);
  await rejectBreached(ctx, normalized);
  const passwordHash = await hashPassword(ctx, normalized);
  await ctx.db.$transaction(async (tx) => {
    await setPassword(tx, ctx.now(), { accountId: row.account.id, tokenHash, passwordHash });
    // Else strangers could hold the owner again before the new password is typed.
    await recognizeClient(tx, ctx, row.account, caller, { withDevice: true });
    await clearFailures(tx, ctx, row.account, caller);
    await recordSecurityEvent(tx, ctx.now(), row.account.id, "password_reset", caller);
    await ctx.emails.enqueue(tx, "password_changed", row.account.email);
  });
  ctx.emails.wake();
  return listIdentities(ctx.db, row.account.id);
}

type Reset = { accountId: string; tokenHash: string; passwordHash: string };

/** The account's row is locked before the token's, in the order in which its deletion takes them. */
async function setPassword(tx: Tx, now: Date, { accountId, tokenHash, passwordHash }: Reset): Promise<void> {
  await revokeAllSessions(tx, now, accountId);
  const { count } = await tx.passwordResetToken.deleteMany({ where: { accountId, tokenHash, expiresAt: { gt: now } } });
  if (count !== 1) throw new AppError("invalid_or_expired_token"); // which undoes the rest
  await revokeUnverifiedAccess(tx, now, accountId);
  await tx.account.update({ where: { id: accountId }, data: { passwordHash } });
  await tx.account.updateMany({ where: { id: accountId, emailVerifiedAt: null }, data: { emailVerifiedAt: now } });
}

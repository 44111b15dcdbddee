import { consumeEmailLimit, wakeAfterRandomDelay } from "../auth/email-limits";
import { confirmVerification, verificationHashes } from "../auth/email-verification";
import type { Context } from "../context";
import { AppError } from "../errors";
import type { Caller } from "../principal";

type Deps = Pick<Context, "config" | "db" | "emails" | "limits" | "now" | "removeDevices">;

/**
 * Queues another email with a link that verifies the email. The account is looked up when the email is composed: until
 * then unverified, verified and unknown emails are treated the same. Over the limit of emails the call succeeds without
 * another email: the last link works.
 * @throws AppError rate_limited for the caller's IP
 */
export async function resendVerification(
  ctx: Pick<Deps, "db" | "emails" | "limits">,
  email: string,
  caller: Caller,
): Promise<void> {
  await ctx.limits.consume("verificationRequestByIp", caller.ip);
  if (!(await consumeEmailLimit(ctx, "verification", email, caller.ip))) return;
  await ctx.emails.enqueue(ctx.db, "email_verification", email);
  wakeAfterRandomDelay(ctx);
}

/**
 * Verifies a signed-in account's email by an emailed token. The session proves that the account is the caller's, so no
 * password is needed, and nothing else changes.
 * @throws AppError invalid_or_expired_token if the token is invalid, used or expired; rate_limited
 */
export async function verifyOwnEmail(
  ctx: Omit<Deps, "emails">,
  accountId: string,
  token: string,
  caller: Caller,
): Promise<void> {
  const tokenHash = { in: verificationHashes(ctx.config, token) };
  const found = await ctx.db.verificationToken.findFirst({ where: { tokenHash, accountId } });
  const email = found && (await confirmVerification(ctx, { tokenHash: found.tokenHash, isOwn: true }, caller));
  if (email) return;
  await ctx.limits.consume("verificationByIp", caller.ip);
  throw new AppError("invalid_or_expired_token");
}

import { consumeEmailLimit, wakeAfterRandomDelay } from "../../auth/email-limits";
import type { Context } from "../../context";
import type { Caller } from "../../principal";

type Deps = Pick<Context, "db" | "limits" | "emails">;

/**
 * Queues another email with a link that verifies the email. The account is looked up when the email is composed: until
 * then unverified, verified and unknown emails are treated the same. Over the limit of emails the call succeeds without
 * another email: the last link works.
 * @throws AppError rate_limited for the caller's IP
 */
export async function resendVerification(ctx: Deps, email: string, caller: Caller): Promise<void> {
  await ctx.limits.consume("verificationRequestByIp", caller.ip);
  if (!(await consumeEmailLimit(ctx, "verification", email, caller.ip))) return;
  await ctx.emails.enqueue(ctx.db, "email_verification", email);
  wakeAfterRandomDelay(ctx);
}

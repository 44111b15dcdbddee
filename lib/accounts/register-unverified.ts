import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { consumeEmailLimit } from "../auth/limits/email-limits";
import { addPendingVerification, unverifiedExpiresAt } from "../auth/verification/email-verification";
import type { Context } from "../context";
import type { Register } from "./schema";

type Deps = Pick<Context, "config" | "db" | "limits" | "emails" | "now">;

/**
 * Registers an address that has yet to be proven, without telling the caller whether it has an account: its owner
 * is mailed a link to confirm, or a word that the account is there. Nothing about an account that exists changes.
 * Every claim is stored, whoever came first; mails alone are limited, and any link confirms any claim.
 */
export async function registerUnverified(
  ctx: Deps,
  { email, name = null }: Pick<Register, "email"> & { name?: string | null },
  passwordHash: string,
  caller: Caller,
): Promise<void> {
  const isMailed = await consumeEmailLimit(ctx, "verification", email, caller.ip);
  const now = ctx.now();
  await ctx.db.$transaction(async (tx) => {
    const data = [{ email, name, passwordHash, createdAt: now, unverifiedExpiresAt: unverifiedExpiresAt(now) }];
    const { count } = await tx.account.createMany({ data, skipDuplicates: true });
    const { id, emailVerifiedAt } = await tx.account.findUniqueOrThrow({ where: { email } });
    if (count > 0) await recordSecurityEvent(tx, now, id, "registered", caller);
    if (!emailVerifiedAt) await addPendingVerification(ctx, tx, id, count > 0 ? null : { passwordHash, name });
    if (isMailed) await ctx.emails.enqueue(tx, emailVerifiedAt ? "registered_already" : "email_verification", email);
  });
  ctx.emails.wake();
}

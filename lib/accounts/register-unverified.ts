import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { consumeEmailLimit } from "../auth/limits/email-limits";
import { addPendingVerification, unverifiedExpiresAt } from "../auth/verification/email-verification";
import type { Context } from "../context";
import type { Locale } from "../locale";
import type { Register } from "./schema";

type Deps = Pick<Context, "config" | "db" | "limits" | "emails" | "now">;

/**
 * Registers an email that has to be verified, and sends its owner a link, or the notice that the account exists. The
 * caller cannot tell which. Existing accounts do not change: each registration is stored, and the owner's password
 * selects the one that counts.
 */
export async function registerUnverified(
  ctx: Deps,
  { email, name = null, locale }: Pick<Register, "email"> & { name?: string | null; locale: Locale | null },
  passwordHash: string,
  caller: Caller,
): Promise<void> {
  const shouldEmail = await consumeEmailLimit(ctx, "verification", email, caller.ip);
  const now = ctx.now();
  await ctx.db.$transaction(async (tx) => {
    const unverified = { passwordHash, createdAt: now, unverifiedExpiresAt: unverifiedExpiresAt(now) };
    const data = [{ email, name, locale, ...unverified }];
    const { count } = await tx.account.createMany({ data, skipDuplicates: true });
    const { id, emailVerifiedAt } = await tx.account.findUniqueOrThrow({ where: { email } });
    if (count > 0) await recordSecurityEvent(tx, now, id, "registered", caller);
    if (!emailVerifiedAt) await addPendingVerification(ctx, tx, id, count > 0 ? null : { passwordHash, name });
    const kind = emailVerifiedAt ? "registered_already" : "email_verification";
    if (shouldEmail) await ctx.emails.enqueue(tx, kind, email);
  });
  ctx.emails.wake();
}

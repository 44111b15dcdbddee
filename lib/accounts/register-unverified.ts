import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { consumeEmailLimit } from "../auth/limits/consume-email-limit";
import { isEmailReserved } from "../auth/reserved-emails";
import { addPendingVerification, unverifiedExpiresAt } from "../auth/verification/email-verification";
import type { Context } from "../context";
import type { Locale } from "../locale";
import { accountCreated } from "../webhooks/events";
import type { Register } from "./schema";

type Deps = Pick<Context, "config" | "db" | "limits" | "emails" | "now" | "webhooks">;

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
    const isReserved = await isEmailReserved(tx, email, now);
    const { count } = isReserved ? { count: 0 } : await tx.account.createMany({ data, skipDuplicates: true });
    const account = await tx.account.findUnique({ where: { email } });
    const registration = count > 0 ? null : { passwordHash, name };
    if (account && count > 0) {
      await recordSecurityEvent(tx, now, account.id, "registered", caller);
      await ctx.webhooks.record(tx, [accountCreated(account.id)]);
    }
    if (account?.emailVerifiedAt === null) await addPendingVerification(ctx, tx, account.id, registration);
    if (shouldEmail) await ctx.emails.enqueue(tx, kindFor(account), email);
  });
  ctx.emails.wake();
}

/** Without an account the email is reserved for the owner of an account who can undo the change of its email. */
function kindFor(account: { emailVerifiedAt: Date | null } | null) {
  if (!account) return "email_change_notice";
  return account.emailVerifiedAt ? "registered_already" : "email_verification";
}

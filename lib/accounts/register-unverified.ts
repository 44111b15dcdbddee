import { setTimeout } from "node:timers/promises";
import { consumeEmailLimit, wakeAfterRandomDelay } from "../auth/email-limits";
import { addPendingVerification, unverifiedExpiresAt } from "../auth/email-verification";
import { isEmailReserved } from "../auth/reserved-emails";
import type { Context } from "../context";
import { recordSecurityEvent } from "../platform/audit/security-events";
import type { Locale } from "../platform/locale";
import type { Caller } from "../principal";
import { accountCreated } from "../webhooks/events";
import type { Register } from "./schema";

/** Several times longer than the statements of a registration take. */
const STEP_MS = 50;

type Deps = Pick<Context, "config" | "db" | "limits" | "emails" | "now" | "webhooks">;

/**
 * Registers an email that has to be verified, and sends its owner a link, or the notice that the account exists. The
 * caller cannot tell which, also not by the time that it takes. Existing accounts do not change: each registration is
 * stored, and the owner's password selects the one that counts.
 */
export async function registerUnverified(
  ctx: Deps,
  { email, name = null, locale }: Pick<Register, "email"> & { name?: string | null; locale: Locale | null },
  passwordHash: string,
  caller: Caller,
): Promise<void> {
  const shouldEmail = await consumeEmailLimit(ctx, "verification", email, caller.ip);
  await inWholeSteps(() => storeRegistration(ctx, { email, name, locale, passwordHash, shouldEmail }, caller));
  wakeAfterRandomDelay(ctx);
}

/** Only a new account is inserted, with its events: the result waits for the next multiple of `STEP_MS`. */
async function inWholeSteps(run: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await run().finally(() => setTimeout(STEP_MS - ((performance.now() - startedAt) % STEP_MS)));
}

type Registration = {
  email: string;
  name: string | null;
  locale: Locale | null;
  passwordHash: string;
  shouldEmail: boolean;
};

async function storeRegistration(
  ctx: Deps,
  { email, name, locale, passwordHash, shouldEmail }: Registration,
  caller: Caller,
): Promise<void> {
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
}

/** Without an account the email is reserved for the owner of an account who can undo the change of its email. */
function kindFor(account: { emailVerifiedAt: Date | null } | null) {
  if (!account) return "email_change_notice";
  return account.emailVerifiedAt ? "registered_already" : "email_verification";
}

import { setTimeout } from "node:timers/promises";
import { consumeEmailLimit, wakeAfterRandomDelay } from "../auth/email-limits";
import { addPendingVerification, unverifiedExpiresAt } from "../auth/email-verification";
import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { isEmailReserved, reservedEmailCondition } from "../auth/reserved-emails";
import { BY_PASSWORD } from "../auth/sessions/authentication";
import { createSession } from "../auth/sessions/create-session";
import { sessionToken, type Transport } from "../auth/sessions/sessions";
import type { Context } from "../context";
import { AppError } from "../errors";
import { recordSecurityEvent } from "../platform/audit/security-events";
import { newId } from "../platform/db/ids";
import { sql } from "../platform/db/sql";
import type { Locale } from "../platform/locale";
import type { Caller } from "../principal";
import { accountCreated } from "../webhooks/events";
import { type Register, toUser } from "./schema";

type Deps = Pick<
  Context,
  "breaches" | "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices" | "webhooks"
>;

/**
 * Creates an account and signs it in. If emails have to be verified, it sends an email instead and returns null,
 * whether or not the email has an account.
 * @throws AppError validation_failed, email_taken, rate_limited, overloaded
 */
export async function register(ctx: Deps, registration: Register, transport: Transport, caller: Caller) {
  const { email, name, deviceName = null } = registration;
  const locale = registration.locale ?? caller.locale ?? null;
  const password = await checkNewPassword(ctx, registration.password);
  rejectOwnEmail(password, email);
  await ctx.limits.consume("registerByIp", caller.ip);
  await rejectBreached(ctx, password);
  const passwordHash = await hashPassword(ctx, password);
  if (ctx.config.AUTH_REQUIRE_VERIFIED_EMAIL) {
    await registerUnverified(ctx, { email, name: name ?? null, locale, passwordHash }, caller);
    return null;
  }
  const now = ctx.now();
  const defaults = { image: null, emailVerifiedAt: null, emailProblem: null, sessionEpoch: 0 };
  const account = { ...defaults, id: newId(), email, name: name ?? null, createdAt: now };
  const accountStatement = sql`
    INSERT INTO "Account" ("id", "email", "name", "passwordHash", "locale", "createdAt", "updatedAt")
    SELECT ${account.id}::uuid, ${email}, ${account.name}, ${passwordHash}, ${locale}, ${now}::timestamptz, ${now}::timestamptz
    WHERE NOT ${reservedEmailCondition(email, now)}
    ON CONFLICT ("email") DO NOTHING RETURNING "id"`;
  const newSession = { account, accountStatement, event: "registered", transport, deviceName } as const;
  const created = await ctx.webhooks.inTransaction("account.created", async (tx) => {
    const session = await createSession(ctx, tx, now, { ...newSession, authentication: BY_PASSWORD }, caller);
    if (session) await ctx.webhooks.record(tx, [accountCreated(account.id)]);
    return session;
  });
  if (!created) throw new AppError("email_taken");
  const token = await sessionToken(ctx, created.claims);
  return { user: toUser(account), session: created.session, token, deviceId: caller.deviceId };
}

/** Several times longer than the statements of a registration take. */
const STEP_MS = 50;

/**
 * Registers an email that has to be verified, and sends its owner a link, or the notice that the account exists. The
 * caller cannot tell which, also not by the time that it takes. Existing accounts do not change: each registration is
 * stored, and the owner's password selects the one that counts.
 */
async function registerUnverified(ctx: Deps, registration: Omit<Registration, "shouldEmail">, caller: Caller) {
  const shouldEmail = await consumeEmailLimit(ctx, "verification", registration.email, caller.ip);
  await inWholeSteps(() => storeRegistration(ctx, { ...registration, shouldEmail }, caller));
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

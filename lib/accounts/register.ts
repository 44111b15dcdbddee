import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { reservedEmailCondition } from "../auth/reserved-emails";
import { BY_PASSWORD } from "../auth/sessions/authentication";
import { createSession } from "../auth/sessions/create-session";
import { sessionToken, type Transport } from "../auth/sessions/sessions";
import type { Context } from "../context";
import { AppError } from "../errors";
import { newId } from "../platform/db/ids";
import { sql } from "../platform/db/sql";
import type { Caller } from "../principal";
import { accountCreated } from "../webhooks/events";
import { registerUnverified } from "./register-unverified";
import { type Register, toUser } from "./schema";

type Deps = Pick<
  Context,
  "breaches" | "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices" | "webhooks"
>;

/**
 * Creates an account and signs it in. If emails have to be verified, it sends an email instead and returns null, whether
 * or not the email has an account.
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
    await registerUnverified(ctx, { email, name, locale }, passwordHash, caller);
    return null;
  }
  const now = ctx.now();
  const defaults = { image: null, emailVerifiedAt: null, sessionEpoch: 0 };
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

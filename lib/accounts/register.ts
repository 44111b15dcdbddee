import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { recognizeClient } from "../auth/limits/recognized-clients";
import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { createSession, sessionToken, type Transport } from "../auth/sessions/sessions";
import type { Context } from "../context";
import { AppError, isUniqueViolation } from "../errors";
import { registerUnverified } from "./register-unverified";
import { type Register, toUser } from "./schema";

type Deps = Pick<Context, "breaches" | "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/**
 * Creates an account and signs it in. If emails have to be verified, it sends an email instead and returns null, whether
 * or not the email has an account.
 * @throws AppError validation_failed, email_taken, rate_limited, overloaded
 */
export async function register(ctx: Deps, registration: Register, transport: Transport, caller: Caller) {
  const { email, name, deviceName = null } = registration;
  const password = await checkNewPassword(ctx, registration.password);
  rejectOwnEmail(password, email);
  await ctx.limits.consume("registerByIp", caller.ip);
  await rejectBreached(ctx, password);
  const passwordHash = await hashPassword(ctx, password);
  if (ctx.config.AUTH_REQUIRE_VERIFIED_EMAIL) {
    await registerUnverified(ctx, { email, name }, passwordHash, caller);
    return null;
  }
  const now = ctx.now();
  const { account, session, claims } = await ctx.db
    .$transaction(async (tx) => {
      const account = await tx.account.create({ data: { email, name, passwordHash, createdAt: now } });
      await recordSecurityEvent(tx, now, account.id, "registered", caller);
      await recognizeClient(tx, ctx, account, caller, { withDevice: transport === "cookie" });
      const input = { transport, userAgent: caller.userAgent, deviceName };
      return { account, ...(await createSession(ctx, tx, now, account, input)) };
    })
    .catch((error: unknown) => {
      throw isUniqueViolation(error) ? new AppError("email_taken") : error;
    });
  return { user: toUser(account), session, token: await sessionToken(ctx, claims), deviceId: caller.deviceId };
}

import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { recognizeClient } from "../auth/limits/recognized-clients";
import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { createSession, sessionToken, type Transport } from "../auth/sessions/sessions";
import { issueSession, verifyPassword } from "../auth/sign-in";
import type { Context } from "../context";
import { AppError, isUniqueViolation } from "../errors";
import { registerUnverified } from "./register-unverified";
import { type Login, type Register, toUser } from "./schema";

type Deps = Pick<Context, "breaches" | "config" | "db" | "dbNow" | "hasher" | "limits" | "emails" | "now">;

/** Signs in with a password. @throws AppError invalid_credentials, email_not_verified, rate_limited, overloaded */
export async function logIn(ctx: Omit<Deps, "breaches">, login: Login, transport: Transport, caller: Caller) {
  const account = await verifyPassword(ctx, login, caller);
  const how = { transport, deviceName: login.deviceName ?? null };
  const { session, token } = await issueSession(ctx, account, how, caller);
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}

/**
 * Makes an account and signs it in. Of two at one moment for one address one wins. Where addresses have to be
 * verified it mails instead, and answers null whether there was an account or not.
 * @throws AppError validation_failed, email_taken, rate_limited, overloaded
 */
export async function register(ctx: Deps, wanted: Register, transport: Transport, caller: Caller) {
  const password = await checkNewPassword(ctx, wanted.password);
  rejectOwnEmail(password, wanted.email);
  await ctx.limits.consume("registerByAddress", caller.ip);
  await rejectBreached(ctx, password);
  const passwordHash = await hashPassword(ctx, password);
  if (ctx.config.AUTH_REQUIRE_VERIFIED_EMAIL) {
    await registerUnverified(ctx, wanted, passwordHash, caller);
    return null;
  }
  const now = ctx.now();
  const how = { transport, client: caller.client, deviceName: wanted.deviceName ?? null };
  const { account, session, claims } = await ctx.db
    .$transaction(async (tx) => {
      const account = await tx.account.create({
        data: { email: wanted.email, name: wanted.name, passwordHash, createdAt: now },
      });
      await recordSecurityEvent(tx, now, account.id, "registered", caller);
      await recognizeClient(tx, ctx, account, caller, { withDevice: transport === "cookie" });
      return { account, ...(await createSession(tx, now, account, how)) };
    })
    .catch((error: unknown) => {
      throw isUniqueViolation(error) ? new AppError("email_taken") : error;
    });
  return { user: toUser(account), session, token: await sessionToken(ctx, claims), deviceId: caller.deviceId };
}

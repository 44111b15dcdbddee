import { createHash, randomBytes } from "node:crypto";
import type { Caller } from "../auth/credentials";
import { checkNewPassword, hashPassword } from "../auth/passwords";
import { recordSecurityEvent } from "../auth/security-events";
import type { Context } from "../context";
import { AppError } from "../errors";
import { removeDevices } from "../push/devices";
import type { ConfirmReset } from "./schema";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "log" | "mailer" | "now">;

const TOKEN_TTL_MS = 30 * 60 * 1000;

/**
 * Mails a link for choosing a new password to an address that has an account. A known and an unknown address
 * take the same one statement, and nobody waits for the mail. A newer link replaces the one before.
 * @throws AppError rate_limited
 */
export async function requestReset(ctx: Deps, email: string, caller: Caller): Promise<void> {
  await ctx.limits.consume("resetRequestByAddress", caller.address);
  await ctx.limits.consume("resetRequestByEmail", ctx.limits.privateKey(email));
  const token = randomBytes(32).toString("base64url");
  const now = ctx.now();
  const expiresAt = new Date(now.getTime() + TOKEN_TTL_MS);
  const known = await ctx.db.$executeRaw`
    INSERT INTO "PasswordResetToken" ("accountId", "tokenHash", "createdAt", "expiresAt")
    SELECT "id", ${sha256(token)}, ${now}, ${expiresAt} FROM "Account" WHERE "email" = ${email}
    ON CONFLICT ("accountId") DO UPDATE
    SET "tokenHash" = EXCLUDED."tokenHash", "createdAt" = EXCLUDED."createdAt", "expiresAt" = EXCLUDED."expiresAt"`;
  if (known > 0) sendInBackground(ctx, resetMail(ctx.config.baseUrl, email, token));
}

/**
 * Sets a new password by the mailed token, once: ends every session and with it its devices, and counts as
 * proof of the mailbox. Does not sign in.
 * @throws AppError validation_failed for the password, invalid_or_expired_token for every fault of the token.
 */
export async function confirmReset(ctx: Deps, { token, password }: ConfirmReset, caller: Caller): Promise<void> {
  const normalized = checkNewPassword(ctx, password);
  await ctx.limits.consume("resetConfirmByAddress", caller.address);
  const passwordHash = await hashPassword(ctx, normalized);
  const tokenHash = sha256(token);
  const now = ctx.now();
  const email = await ctx.db.$transaction(async (tx) => {
    const row = await tx.passwordResetToken.findUnique({ where: { tokenHash }, include: { account: true } });
    const { count } = await tx.passwordResetToken.deleteMany({ where: { tokenHash, expiresAt: { gt: now } } });
    if (!row || count !== 1) throw new AppError("invalid_or_expired_token");
    const { accountId, account } = row;
    await tx.account.update({
      where: { id: accountId },
      data: { passwordHash, sessionEpoch: { increment: 1 }, emailVerifiedAt: account.emailVerifiedAt ?? now },
    });
    await tx.session.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: now } });
    await removeDevices(tx, { accountId });
    await recordSecurityEvent(tx, now, accountId, "password_reset", caller);
    return account.email;
  });
  sendInBackground(ctx, noticeMail(email));
}

function sendInBackground({ mailer, log }: Deps, mail: Parameters<Context["mailer"]["send"]>[0]): void {
  mailer.send(mail).catch(({ code, command, responseCode }: Record<string, unknown>) => {
    // Not the error itself: its message names the recipient.
    log.error({ code, command, responseCode, subject: mail.subject }, "mail not sent");
  });
}

/** The token stands in the fragment, which no server and no Referer header gets to see. */
function resetMail(baseUrl: string, to: string, token: string) {
  const text = [
    "Somebody, most likely you, asked to reset the password of your account.",
    "",
    "Choose a new one within 30 minutes:",
    `${baseUrl}/reset#token=${token}`,
    "",
    "If it was not you, nothing has changed and there is nothing to do.",
  ].join("\n");
  return { to, subject: "Reset your password", text };
}

function noticeMail(to: string) {
  const text = [
    "The password of your account was changed, and every session was signed out.",
    "",
    "If it was not you, reset your password at once: whoever did it can read your mail.",
  ].join("\n");
  return { to, subject: "Your password was changed", text };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

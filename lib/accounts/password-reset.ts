import { consumeEmailLimit, wakeAfterRandomDelay } from "../auth/email-limits";
import { setEmailProblem } from "../auth/email-problem";
import { revokeUnverifiedAccess } from "../auth/email-verification";
import { emailedToken, findEmailedToken, hashEmailedToken, revokePasswordLinks } from "../auth/emailed-token";
import { hashPassword } from "../auth/passwords/password-hash";
import { checkNewPassword, rejectBreached, rejectOwnEmail } from "../auth/passwords/policy";
import { isRecognizedDevice, recognizeClient } from "../auth/recognized-clients";
import { cancelEmailChanges } from "../auth/reserved-emails";
import { removeOldHandedCodes } from "../auth/second-factor/factors";
import { TotpCode } from "../auth/second-factor/schema";
import { checkRecoveryCode, verifySecondFactor } from "../auth/second-factor/verify-second-factor";
import { revokeAllSessions } from "../auth/sessions/sessions";
import { clearFailures } from "../auth/sign-in-throttle";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { recordSecurityEvent } from "../platform/audit/security-events";
import { newId } from "../platform/db/ids";
import type { Caller } from "../principal";
import type { ConfirmReset } from "./schema";
import { type LinkedIdentity, listIdentities } from "./sign-in-methods/identities";

type Deps = Pick<Context, "breaches" | "config" | "db" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

export const RESET_TTL_MINUTES = 30;

/**
 * The token of a password reset link, valid for 30 minutes from now; null if the email has no account. A token is
 * reused for 30 minutes after its creation, so that another request does not invalidate the link that was just sent.
 */
export async function issueResetToken({ config, db, now }: Pick<Context, "config" | "db" | "now">, email: string) {
  const at = now();
  const ttlMs = RESET_TTL_MINUTES * 60 * 1000;
  const expiresAt = new Date(at.getTime() + ttlMs);
  // The second round replaces a live row whose token was made with a secret that is no longer in the ring.
  for (const reusedFrom of [new Date(at.getTime() - ttlMs), expiresAt]) {
    const id = newId();
    const [row] = await db.$queryRaw<{ id: string; tokenHash: string }[]>`
      INSERT INTO "PasswordResetToken" AS live ("accountId", "id", "tokenHash", "createdAt", "expiresAt")
      SELECT "id", ${id}::uuid, ${hashEmailedToken(emailedToken(config, "password-reset", id))}, ${at}::timestamptz, ${expiresAt}::timestamptz
      FROM "Account" WHERE "email" = ${email}
      ON CONFLICT ("accountId") DO UPDATE SET
        ("id", "tokenHash", "createdAt", "expiresAt") = (SELECT
          CASE WHEN isReused THEN live."id" ELSE EXCLUDED."id" END,
          CASE WHEN isReused THEN live."tokenHash" ELSE EXCLUDED."tokenHash" END,
          CASE WHEN isReused THEN live."createdAt" ELSE EXCLUDED."createdAt" END,
          EXCLUDED."expiresAt"
          FROM (SELECT live."createdAt" > ${reusedFrom}::timestamptz AND live."createdAt" <= EXCLUDED."createdAt"
            AND live."expiresAt" > EXCLUDED."createdAt" AS isReused) AS age)
      RETURNING "id", "tokenHash"`;
    if (!row) return null;
    const isStored = (token: string) => hashEmailedToken(token) === row.tokenHash;
    const token = findEmailedToken(config, "password-reset", row.id, isStored);
    if (token) return token;
  }
  throw new Error("A process with another secret replaced the reset token");
}

/**
 * Queues an email with a reset link. The account is looked up when the email is composed: until then known and unknown
 * emails are treated the same. Over the limit of emails the call succeeds without another email: the last link works.
 * @throws AppError rate_limited for the caller's IP, unless the account recognizes the caller's device
 */
export async function requestReset(
  ctx: Pick<Deps, "db" | "limits" | "emails" | "now">,
  email: string,
  caller: Caller,
): Promise<void> {
  const isOwnDevice = await isRecognizedDevice(ctx, email, caller);
  if (!isOwnDevice) await ctx.limits.consume("resetRequestByIp", caller.ip);
  if (!(await consumeEmailLimit(ctx, "reset", email, caller.ip))) return;
  await ctx.emails.enqueue(ctx.db, "password_reset", email);
  wakeAfterRandomDelay(ctx);
}

/** An emailed link that sets a password. `find` returns the account of a token that is valid. */
export type PasswordLink = {
  event: "password_reset" | "invitation_accepted";
  find: (db: Tx, tokenHash: string, at: Date) => Promise<{ id: string; email: string } | null>;
};

const RESET: PasswordLink = {
  event: "password_reset",
  find: async (db, tokenHash, at) => {
    const where = { tokenHash, expiresAt: { gt: at } };
    const select = { account: { select: { id: true, email: true } } };
    return (await db.passwordResetToken.findUnique({ where, select }))?.account ?? null;
  },
};

/**
 * Sets a new password with an emailed token, which works once. Revokes every session and their devices, verifies the
 * email, and lifts the throttle for this client. Does not sign in. Returns the linked providers for the owner to check.
 * @throws AppError validation_failed for the password, without using up the token; invalid_or_expired_token if the
 *   token is invalid, used or expired; rate_limited, overloaded
 */
export function confirmReset(ctx: Deps, given: ConfirmReset, caller: Caller) {
  return setPasswordByLink(ctx, RESET, given, caller);
}

/** The same for any link that sets a password. */
export async function setPasswordByLink(
  ctx: Deps,
  link: PasswordLink,
  { token, password, code }: ConfirmReset,
  caller: Caller,
): Promise<LinkedIdentity[]> {
  const normalized = await checkNewPassword(ctx, password);
  const account = await requireLink(ctx, link, token, caller);
  rejectOwnEmail(normalized, account.email);
  await rejectBreached(ctx, normalized);
  const passwordHash = await hashPassword(ctx, normalized); // first: if it is refused for now, the code is not used up
  const consumeCode = await requireLinkCode(ctx, account.id, code, caller);
  await ctx.db.$transaction(async (tx) => {
    await consumeLink(ctx, tx, link, { account, token, consumeCode }, caller);
    await tx.account.update({ where: { id: account.id }, data: { passwordHash } });
    await ctx.emails.enqueue(tx, "password_changed", account.email);
  });
  ctx.emails.wake();
  return listIdentities(ctx.db, account.id);
}

/**
 * The account of a link. A valid token has its own limit, which others behind the same IP cannot use up.
 * @throws AppError invalid_or_expired_token, rate_limited
 */
export async function requireLink(
  ctx: Pick<Deps, "db" | "limits" | "now">,
  link: PasswordLink,
  token: string,
  caller: Caller,
): Promise<{ id: string; email: string }> {
  const tokenHash = hashEmailedToken(token);
  const account = await link.find(ctx.db, tokenHash, ctx.now());
  if (account) await ctx.limits.consume("resetConfirmByToken", tokenHash);
  else await ctx.limits.consume("resetConfirmByIp", caller.ip);
  if (!account) throw new AppError("invalid_or_expired_token");
  return account;
}

/**
 * With AUTH_LINKS_NEED_CODE, requires what a thief of the mailbox does not have: a code of the account's authenticator app, one of
 * its recovery codes, or the code that an operator handed over (OWASP ASVS 5.0, 6.3.6). Returns what uses up a recovery code
 * together with the link.
 * @throws AppError validation_failed without a code; invalid_code, rate_limited
 */
export async function requireLinkCode(
  ctx: Pick<Deps, "config" | "db" | "limits" | "now">,
  accountId: string,
  typed: string | undefined,
  caller: Caller,
): Promise<(tx: Tx) => Promise<void>> {
  const doNothing = async () => {};
  if (!ctx.config.AUTH_LINKS_NEED_CODE) return doNothing;
  if (!typed)
    throw new AppError("validation_failed", {
      errors: [{ pointer: "/code", code: "required", detail: "Is required" }],
    });
  await removeOldHandedCodes(ctx.db, ctx.now(), accountId);
  const code = TotpCode.safeParse(typed).data;
  if (code === undefined) return checkRecoveryCode(ctx, accountId, typed, "sign-in", caller);
  await verifySecondFactor(ctx, accountId, { code }, "sign-in", caller);
  return doNothing;
}

/**
 * Uses up a link, its code, and every other link that sets a password. It proves the email, so it revokes whatever access
 * somebody else may have. Locks the account before the token, in the order of account deletion.
 * @throws AppError invalid_or_expired_token, invalid_code
 */
export async function consumeLink(
  ctx: Pick<Deps, "limits" | "now" | "removeDevices">,
  tx: Tx,
  link: PasswordLink,
  given: { account: { id: string; email: string }; token: string; consumeCode: (tx: Tx) => Promise<void> },
  caller: Caller,
): Promise<void> {
  const { account, token, consumeCode } = given;
  const { id } = account;
  const now = ctx.now();
  await revokeAllSessions(ctx, tx, now, id);
  if ((await link.find(tx, hashEmailedToken(token), now)) === null) throw new AppError("invalid_or_expired_token"); // rolls back
  await consumeCode(tx);
  await revokePasswordLinks(tx, id);
  await cancelEmailChanges(tx, now, id);
  await revokeUnverifiedAccess(ctx, tx, id);
  await tx.account.updateMany({ where: { id, emailVerifiedAt: null }, data: { emailVerifiedAt: now } });
  await setEmailProblem(tx, account, null, { at: now, by: "owner" });
  // Otherwise strangers could block the owner again before the first sign-in with the new password.
  await recognizeClient(tx, ctx, account, caller, { hasDeviceCookie: true });
  await clearFailures(tx, ctx, account, caller);
  await recordSecurityEvent(tx, now, id, link.event, caller);
}

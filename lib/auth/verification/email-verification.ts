import { createHash, createHmac } from "node:crypto";
import type { Caller } from "../../audit/caller";
import { recordSecurityEvent } from "../../audit/security-events";
import type { Context, Tx } from "../../context";
import type { Account } from "../../db/generated/client";
import { newId } from "../../db/ids";
import { AppError } from "../../errors";
import { consumeEmailLimit } from "../limits/email-limits";
import { revokeAllSessions } from "../sessions/sessions";

type Config = Context["config"];
type Deps = Pick<Context, "config" | "db" | "limits" | "emails" | "now">;

export const VERIFICATION_TTL_HOURS = 24;

/** How long an account lasts whose address has to be verified and is not. */
const UNVERIFIED_TTL_DAYS = 7;

/** When an account that is made now is removed, if nobody verifies its address. */
export function unverifiedExpiresAt(now: Date): Date {
  return new Date(now.getTime() + UNVERIFIED_TTL_DAYS * 24 * 60 * 60 * 1000);
}

/** What somebody registered with: it becomes the account's when the owner of the mailbox confirms it. */
type Registration = { passwordHash: string; name: string | null };
/** The claim that the holder of a mailed link proved to be theirs: what they registered with, or an identity. */
export type MatchedRegistration =
  | { registration: Registration; identity?: undefined }
  | { registration?: undefined; identity: { id: string } };

/**
 * Where addresses have to be verified, refuses an account whose address is not, and mails its owner a link.
 * @throws AppError email_not_verified
 */
export async function requireVerifiedEmail(
  ctx: Deps,
  account: Pick<Account, "id" | "email" | "emailVerifiedAt">,
  caller: Caller,
): Promise<void> {
  if (!ctx.config.AUTH_REQUIRE_VERIFIED_EMAIL || account.emailVerifiedAt !== null) return;
  if (await consumeEmailLimit(ctx, "verification", account.email, caller.ip)) {
    await ctx.db.$transaction(async (tx) => {
      await addPendingVerification(ctx, tx, account.id, null);
      await ctx.emails.enqueue(tx, "email_verification", account.email);
    });
    ctx.emails.wake();
  }
  throw new AppError("email_not_verified");
}

/**
 * Stores a claim to an account's address, with a token for a mailed link. `registration` is that of a caller who
 * claims an address that somebody has claimed before; null is whoever knows the account's own password.
 */
export async function addPendingVerification(
  { config, now }: Pick<Deps, "config" | "now">,
  tx: Tx,
  accountId: string,
  registration: Registration | null,
): Promise<void> {
  const createdAt = now();
  const expiresAt = new Date(createdAt.getTime() + VERIFICATION_TTL_HOURS * 60 * 60 * 1000);
  if (registration === null) {
    const where = { accountId, passwordHash: null };
    const { count } = await tx.verificationToken.updateMany({ where, data: { createdAt, expiresAt } });
    if (count > 0) return;
  }
  const id = newId();
  const tokenHash = hashVerificationToken(verificationToken(config, id), config.secret);
  await tx.verificationToken.create({ data: { id, tokenHash, accountId, ...registration, createdAt, expiresAt } });
}

/** The token for a mailed link: that of the newest claim to an address; null where the address is verified. */
export async function newestVerificationToken(
  { config, db, now }: Pick<Deps, "config" | "db" | "now">,
  email: string,
): Promise<string | null> {
  const claim = await db.verificationToken.findFirst({
    where: { account: { email, emailVerifiedAt: null }, expiresAt: { gt: now() } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    select: { id: true },
  });
  return claim && verificationToken(config, claim.id);
}

/**
 * Verifies the address of a mailed token, once, for the claim that its holder proved to be theirs. What others put
 * into the account goes. Returns the address; null for every fault of the token.
 */
export async function confirmVerification(
  { db, now: clock }: Pick<Context, "db" | "now">,
  tokenHash: string,
  proven: MatchedRegistration,
  caller: Caller,
): Promise<string | null> {
  const now = clock();
  return db.$transaction(async (tx) => {
    const row = await tx.verificationToken.findUnique({ where: { tokenHash }, include: { account: true } });
    const { count } = await tx.verificationToken.deleteMany({ where: { tokenHash, expiresAt: { gt: now } } });
    if (!row || count !== 1 || row.account.emailVerifiedAt !== null) return null;
    const { accountId, account } = row;
    if (proven.identity || proven.registration?.passwordHash !== account.passwordHash) {
      await revokeUnverifiedAccess(tx, now, accountId, proven.identity?.id);
      if (proven.registration) await tx.account.update({ where: { id: accountId }, data: proven.registration });
    }
    await tx.verificationToken.deleteMany({ where: { accountId } });
    await tx.account.update({ where: { id: accountId }, data: { emailVerifiedAt: now } });
    await recordSecurityEvent(tx, now, accountId, "email_verified", caller);
    return account.email;
  });
}

/**
 * Takes from an account whose address nobody has proven every way into it, before somebody does: whoever
 * registered another's address beforehand keeps nothing, but for one identity that was proved with the address. Does
 * nothing to an account whose address is proven.
 */
export async function revokeUnverifiedAccess(
  tx: Tx,
  now: Date,
  accountId: string,
  keepIdentityId?: string,
): Promise<void> {
  const { count } = await tx.account.updateMany({
    where: { id: accountId, emailVerifiedAt: null },
    data: { passwordHash: null },
  });
  if (count === 0) return;
  await revokeAllSessions(tx, now, accountId);
  await tx.identity.deleteMany({ where: { accountId, id: { not: keepIdentityId } } });
  await tx.passwordResetToken.deleteMany({ where: { accountId } });
  await tx.verificationToken.deleteMany({ where: { accountId } });
}

/** A claim's token. It can be made again for a mail that has to be sent again, by nobody without the secret. */
function verificationToken({ secret }: Pick<Config, "secret">, id: string): string {
  return createHmac("sha256", secret).update(`email-verification:${id}`).digest("base64url");
}

/** The hash that next-auth looks a token up by. */
export function hashVerificationToken(token: string, secret: string): string {
  return createHash("sha256").update(`${token}${secret}`).digest("hex");
}

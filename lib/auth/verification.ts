import { createHash, createHmac, randomUUID } from "node:crypto";
import type { Context, Tx } from "../context";
import type { Account } from "../db/generated/client";
import { AppError, isAppError } from "../errors";
import type { Caller } from "./credentials";
import { recordSecurityEvent } from "./security-events";
import { revokeAllSessions } from "./sessions";

type Config = Context["config"];
type Deps = Pick<Context, "config" | "db" | "limits" | "mails" | "now">;

export const VERIFICATION_TTL_HOURS = 24;
/** One mail shows no more. */
const MOST_CLAIMS = 3;

/**
 * Where addresses have to be verified, refuses an account whose address is not, and mails its owner a link.
 * @throws AppError email_not_verified
 */
export async function requireVerifiedEmail(
  ctx: Deps,
  account: Pick<Account, "id" | "email" | "emailVerifiedAt">,
): Promise<void> {
  if (!ctx.config.AUTH_REQUIRE_VERIFIED_EMAIL || account.emailVerifiedAt !== null) return;
  if (await mayMail(ctx, account.email)) {
    await ctx.db.$transaction((tx) => askForProof(ctx, tx, account, null));
    ctx.mails.wake();
  }
  throw new AppError("email_not_verified");
}

/** Counts a mail about verification to an address; false where it has had enough within the hour. */
export async function mayMail({ limits }: Pick<Deps, "limits">, email: string): Promise<boolean> {
  try {
    await limits.consume("verificationByEmail", email);
    return true;
  } catch (error) {
    if (isAppError(error) && error.code === "rate_limited") return false;
    throw error;
  }
}

/**
 * Promises the owner of an account's address a link that proves it. `passwordHash` is that of a caller who claims an
 * address that somebody has claimed before; null is whoever knows the account's own. Each of them gets a link, and the
 * owner decides by the one that they follow. Wake the mails after the commit.
 */
export async function askForProof(
  { config, mails, now }: Pick<Deps, "config" | "mails" | "now">,
  tx: Tx,
  { id: accountId, email }: Pick<Account, "id" | "email">,
  passwordHash: string | null,
): Promise<void> {
  const createdAt = now();
  const expiresAt = new Date(createdAt.getTime() + VERIFICATION_TTL_HOURS * 60 * 60 * 1000);
  const { count } =
    passwordHash === null
      ? await tx.verificationToken.updateMany({ where: { accountId, passwordHash }, data: { createdAt, expiresAt } })
      : { count: 0 };
  if (count === 0) {
    const id = randomUUID();
    const tokenHash = hashed(verificationToken(config, id), config.secret);
    await tx.verificationToken.create({ data: { id, tokenHash, accountId, passwordHash, createdAt, expiresAt } });
  }
  await mails.post(tx, "email_verification", email);
}

/** The claims to an address that wait for proof, the newest first, with their tokens; none where it is proven. */
export async function openClaims({ config, db, now }: Pick<Deps, "config" | "db" | "now">, email: string) {
  const rows = await db.verificationToken.findMany({
    where: { account: { email, emailVerifiedAt: null }, expiresAt: { gt: now() } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: MOST_CLAIMS,
  });
  return rows.map(({ id, createdAt }) => ({ token: verificationToken(config, id), createdAt }));
}

/** Verifies the address that a mailed token stands for, once. Returns it; null for every fault of the token. */
export async function confirmVerification(
  { db, now: clock }: Pick<Context, "db" | "now">,
  tokenHash: string,
  caller: Caller,
): Promise<string | null> {
  const now = clock();
  return db.$transaction(async (tx) => {
    const row = await tx.verificationToken.findUnique({ where: { tokenHash }, include: { account: true } });
    const { count } = await tx.verificationToken.deleteMany({ where: { tokenHash, expiresAt: { gt: now } } });
    if (!row || count !== 1 || row.account.emailVerifiedAt !== null) return null;
    const { accountId, account, passwordHash } = row;
    if (passwordHash !== null) {
      await clearUnproven(tx, now, accountId);
      await tx.account.update({ where: { id: accountId }, data: { passwordHash } });
    }
    await tx.verificationToken.deleteMany({ where: { accountId } });
    await tx.account.update({ where: { id: accountId }, data: { emailVerifiedAt: now } });
    await recordSecurityEvent(tx, now, accountId, "email_verified", caller);
    return account.email;
  });
}

/**
 * Takes from an account whose address nobody has proven every way into it, before somebody does: whoever
 * registered another's address beforehand keeps nothing. Does nothing to an account whose address is proven.
 */
export async function clearUnproven(tx: Tx, now: Date, accountId: string): Promise<void> {
  const { count } = await tx.account.updateMany({
    where: { id: accountId, emailVerifiedAt: null },
    data: { passwordHash: null },
  });
  if (count === 0) return;
  await revokeAllSessions(tx, now, accountId);
  await tx.identity.deleteMany({ where: { accountId } });
  await tx.passwordResetToken.deleteMany({ where: { accountId } });
  await tx.verificationToken.deleteMany({ where: { accountId } });
}

/** A claim's token. It can be made again for a mail that has to be sent again, by nobody without the secret. */
function verificationToken({ secret }: Pick<Config, "secret">, id: string): string {
  return createHmac("sha256", secret).update(`email-verification:${id}`).digest("base64url");
}

/** The hash that next-auth looks a token up by. */
function hashed(token: string, secret: string): string {
  return createHash("sha256").update(`${token}${secret}`).digest("hex");
}

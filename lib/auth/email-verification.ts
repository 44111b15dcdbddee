import { createHash } from "node:crypto";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { recordSecurityEvent } from "../platform/audit/security-events";
import type { Account } from "../platform/db/generated/client";
import { newId } from "../platform/db/ids";
import type { Caller } from "../principal";
import { lockAccount } from "./account-checks";
import { consumeEmailLimit } from "./email-limits";
import { setEmailProblem } from "./email-problem";
import { emailedToken, findEmailedToken, revokePasswordLinks } from "./emailed-token";
import { isPasswordCorrect } from "./passwords/password-hash";
import { cancelEmailChanges } from "./reserved-emails";
import { removeTotpAndRecoveryCodes } from "./second-factor/factors";
import { revokeAllSessions } from "./sessions/sessions";

type Deps = Pick<Context, "config" | "db" | "emails" | "limits" | "now">;

export const VERIFICATION_TTL_HOURS = 24;

/** How long an account is kept whose email has to be verified and is not. */
const UNVERIFIED_TTL_DAYS = 30;

/** Of an account that an operator has made: its owner may come at any time. */
export const NEVER_REMOVED = new Date("9999-12-31T00:00:00Z");

/** When an account that is created now is removed, unless its email is verified. */
export function unverifiedExpiresAt(now: Date): Date {
  return new Date(now.getTime() + UNVERIFIED_TTL_DAYS * 24 * 60 * 60 * 1000);
}

/** The data of a registration. It becomes the account's when the owner of the email confirms it. */
type Registration = { passwordHash: string; name: string | null };
/** What an email's owner confirms: a registration, a provider's identity, or the account as it is, for its session. */
export type MatchedRegistration = {
  tokenHash: string;
  registration?: Registration;
  identity?: { id: string; issuer: string; subject: string };
  isOwn?: true;
};

/** Sends a link to the owner of an email that has to be verified and is not. @throws AppError email_not_verified */
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
 * Stores a pending verification, whose token goes into an emailed link. `registration` is a later registration of an
 * email that has an unverified account; null stands for the account's own registration, which is stored once.
 */
export async function addPendingVerification(
  { config, now }: Pick<Context, "config" | "now">,
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
  const [tokenHash] = verificationHashes(config, emailedToken(config, "email-verification", id));
  await tx.verificationToken.create({ data: { id, tokenHash, accountId, ...registration, createdAt, expiresAt } });
}

/** The token of the newest pending verification of an email; null if there is none. */
export async function newestVerificationToken(
  { config, db, now }: Pick<Context, "config" | "db" | "now">,
  email: string,
): Promise<string | null> {
  const pending = await db.verificationToken.findFirst({
    where: { account: { email, ...isToVerify }, expiresAt: { gt: now() } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    select: { id: true, tokenHash: true },
  });
  if (!pending) return null;
  const { id, tokenHash } = pending;
  const isStored = (token: string) => verificationHashes(config, token).includes(tokenHash);
  const token = findEmailedToken(config, "email-verification", id, isStored);
  if (token) return token;
  // Its secret is no longer in the ring: the email carries a token that works.
  const renewed = emailedToken(config, "email-verification", id);
  await db.verificationToken.updateMany({ where: { id }, data: { tokenHash: verificationHashes(config, renewed)[0] } });
  return renewed;
}

/** The accounts that can verify their email: again, if emails did not reach it. */
const isToVerify = { OR: [{ emailVerifiedAt: null }, { emailProblem: { not: null } }] };

/** The token of a link that verifies an email, valid for a day from now; null if no account waits for it. */
export async function issueVerificationToken(ctx: Pick<Context, "config" | "db" | "now">, email: string) {
  const account = await ctx.db.account.findUnique({ where: { email, ...isToVerify }, select: { id: true } });
  if (account) await addPendingVerification(ctx, ctx.db, account.id, null);
  return newestVerificationToken(ctx, email);
}

/**
 * Verifies the email of an emailed token, once, for the registration that its owner confirms. Access from other
 * registrations is revoked. Returns the email; null if the token is invalid, used or expired, or the password of the
 * registration was replaced, or the identity unlinked, since it was compared.
 */
export async function confirmVerification(
  ctx: Pick<Context, "db" | "now" | "removeDevices">,
  { tokenHash, registration, identity, isOwn }: MatchedRegistration,
  caller: Caller,
): Promise<string | null> {
  const now = ctx.now();
  return ctx.db.$transaction(async (tx) => {
    const token = await tx.verificationToken.findUnique({ where: { tokenHash }, select: { accountId: true } });
    if (!token) return null;
    await lockAccount(tx, token.accountId);
    if (registration && !(await isStored(tx, token.accountId, registration))) return null;
    if (identity && !(await tx.identity.findUnique({ where: { id: identity.id, accountId: token.accountId } })))
      return null;
    const row = await tx.verificationToken.findUnique({ where: { tokenHash }, include: { account: true } });
    const { count } = await tx.verificationToken.deleteMany({ where: { tokenHash, expiresAt: { gt: now } } });
    if (!row || count !== 1 || (row.account.emailVerifiedAt !== null && !isOwn)) return null;
    const { accountId, account } = row;
    if (!isOwn && (identity || registration?.passwordHash !== account.passwordHash)) {
      await revokeUnverifiedAccess(ctx, tx, accountId, identity?.id);
      if (registration) await tx.account.update({ where: { id: accountId }, data: registration });
    }
    await tx.verificationToken.deleteMany({ where: { accountId } });
    await tx.account.update({ where: { id: accountId }, data: { emailVerifiedAt: account.emailVerifiedAt ?? now } });
    await setEmailProblem(tx, account, null, { at: now, by: "owner" });
    await recordSecurityEvent(tx, now, accountId, "email_verified", caller);
    return account.email;
  });
}

/** Whether an account, or a later registration of its email, has the password of a registration. */
async function isStored(tx: Tx, accountId: string, { passwordHash }: Registration): Promise<boolean> {
  const isOwn = await tx.account.findUnique({ where: { id: accountId, passwordHash }, select: { id: true } });
  if (isOwn) return true;
  return (await tx.verificationToken.findFirst({ where: { accountId, passwordHash }, select: { id: true } })) !== null;
}

/**
 * Revokes all access to an account with an unverified email before the email's owner takes it over, because somebody
 * else may have registered the email. Keeps one identity, if given. Does nothing to a verified account.
 */
export async function revokeUnverifiedAccess(
  ctx: Pick<Context, "now" | "removeDevices">,
  tx: Tx,
  accountId: string,
  keepIdentityId?: string,
) {
  const { count } = await tx.account.updateMany({
    where: { id: accountId, emailVerifiedAt: null },
    data: { passwordHash: null },
  });
  if (count === 0) return;
  await revokeAllSessions(ctx, tx, ctx.now(), accountId);
  await tx.identity.deleteMany({ where: { accountId, id: { not: keepIdentityId } } });
  await tx.passkey.deleteMany({ where: { accountId } });
  await removeTotpAndRecoveryCodes(tx, accountId);
  await cancelEmailChanges(tx, ctx.now(), accountId);
  await revokePasswordLinks(tx, accountId);
  await tx.verificationToken.deleteMany({ where: { accountId } });
}

/** The hashes under which a token may be stored, one for each secret. A new token is stored under the first. */
export function verificationHashes(
  { secrets }: Pick<Context["config"], "secrets">,
  token: string,
): [string, ...string[]] {
  const hash = (secret: string) => createHash("sha256").update(`${token}${secret}`).digest("hex");
  const [first, ...others] = secrets;
  return [hash(first), ...others.map(hash)];
}

/** The maximum number of passwords that one call compares. */
const MAX_COMPARISONS = 10;

/** What the caller sends with an emailed token: a password, or the identity that this browser signed in with. */
type RegistrationProof = { password?: string; identity?: { issuer: string; subject: string } };

/**
 * Finds the registration that the holder of an emailed token made, by its password or by the provider's identity. So
 * other people who registered the same email gain nothing when its owner follows the link. null if the token is
 * invalid, used or expired.
 * @throws AppError validation_failed without proof, invalid_credentials if no registration has this password,
 *   rate_limited, overloaded
 */
export async function matchRegistration(
  ctx: Deps & Pick<Context, "hasher">,
  token: string,
  { password, identity }: RegistrationProof,
  ip: string,
): Promise<MatchedRegistration | null> {
  await ctx.limits.consume("verificationByIp", ip);
  const row = await ctx.db.verificationToken.findFirst({
    where: {
      tokenHash: { in: verificationHashes(ctx.config, token) },
      expiresAt: { gt: ctx.now() },
      account: { emailVerifiedAt: null },
    },
    include: { account: { include: { identities: true } } },
  });
  if (!row) return null;
  const { tokenHash } = row;
  if (password === undefined) {
    const own = row.account.identities.find(
      ({ issuer, subject }) => issuer === identity?.issuer && subject === identity.subject,
    );
    if (identity && own) return { tokenHash, identity: { ...identity, id: own.id } };
    const errors = [{ pointer: "/password", code: "required", detail: "Is required" }];
    throw new AppError("validation_failed", { errors });
  }
  for (const registration of await listRegistrations(ctx, row)) {
    if (await isPasswordCorrect(ctx, password, registration.passwordHash)) return { tokenHash, registration };
  }
  throw new AppError("invalid_credentials");
}

type StoredRegistration = { id: string; passwordHash: string | null; name: string | null };

/** The registrations of an email: that of the followed link, then the account's own, then the others, newest first. */
async function listRegistrations(
  { db, now }: Pick<Deps, "db" | "now">,
  followed: StoredRegistration & { account: StoredRegistration },
) {
  const { account } = followed;
  const others = await db.verificationToken.findMany({
    where: { accountId: account.id, id: { not: followed.id }, expiresAt: { gt: now() }, passwordHash: { not: null } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: MAX_COMPARISONS,
  });
  return [followed, account, ...others]
    .flatMap(({ passwordHash, name }) => (passwordHash === null ? [] : [{ passwordHash, name }]))
    .slice(0, MAX_COMPARISONS);
}

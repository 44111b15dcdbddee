import type { Caller } from "../../audit/caller";
import { recordSecurityEvent } from "../../audit/security-events";
import type { Context, Tx } from "../../context";
import type { Account } from "../../db/generated/client";
import { AppError, isUniqueViolation } from "../../errors";
import { revokeUnverifiedAccess, unverifiedExpiresAt } from "../verification/email-verification";
import { type LinkFacts, planLink } from "./link-plan";
import type { ProviderIdentity } from "./profile";

type Deps = Pick<Context, "config" | "db" | "emails" | "now">;

/**
 * The account that an identity signs in to: the one it belongs to, one it is linked to now, or a new one.
 * `startedBy` is the session that began the way to the provider: null where it has ended since, undefined where
 * there was none.
 * @throws AppError identity_unverified, identity_in_use, identity_without_email, reauthentication_required,
 * unauthenticated
 */
export async function linkOrCreateAccount(
  ctx: Deps,
  identity: ProviderIdentity,
  startedBy: LinkFacts["startedBy"],
  caller: Caller,
): Promise<Account> {
  const attempt = () => ctx.db.$transaction((tx) => admit(ctx, tx, identity, startedBy, caller));
  // Of two at the same moment the second finds what the first has made.
  const account = await attempt().catch((error: unknown) => {
    if (isUniqueViolation(error)) return attempt();
    throw error;
  });
  ctx.emails.wake();
  return account;
}

async function admit(
  ctx: Deps,
  tx: Tx,
  identity: ProviderIdentity,
  startedBy: LinkFacts["startedBy"],
  caller: Caller,
): Promise<Account> {
  const now = ctx.now();
  const { provider, issuer, subject, email, emailVerified } = identity;
  // One that was linked by a version that kept no issuer is of the issuer that was configured, as it is now.
  await tx.identity.updateMany({ where: { provider, subject, issuer: null }, data: { issuer } });
  const owner = await tx.identity.findUnique({ where: { issuer_subject: { issuer, subject } } });
  const local = email === null ? null : await tx.account.findUnique({ where: { email } });
  const plan = planLink({ identity, ownerId: owner?.accountId ?? null, startedBy, local, now });
  if (plan.do === "refuse") throw new AppError(plan.code);
  const accountId =
    plan.do === "create" ? await createAccount(ctx, tx, now, { ...identity, email: plan.email }) : plan.accountId;
  if (plan.do === "create") await recordSecurityEvent(tx, now, accountId, "registered", caller);
  if (plan.do === "take_over") await revokeUnverifiedAccess(tx, now, accountId);
  if (emailVerified && email !== null) {
    await tx.account.updateMany({
      where: { id: accountId, email, emailVerifiedAt: null },
      data: { emailVerifiedAt: now },
    });
  }
  if (plan.do !== "sign_in") {
    await tx.identity.create({ data: { accountId, provider, issuer, subject, createdAt: now } });
    await recordSecurityEvent(tx, now, accountId, "identity_linked", caller);
  }
  const account = await tx.account.findUniqueOrThrow({ where: { id: accountId } });
  if (plan.do === "link" || plan.do === "take_over") await ctx.emails.enqueue(tx, "identity_linked", account.email);
  return account;
}

/** An account without a password. */
async function createAccount(
  { config }: Pick<Deps, "config">,
  tx: Tx,
  now: Date,
  { email, name, image, emailVerified }: ProviderIdentity & { email: string },
): Promise<string> {
  const isPending = config.AUTH_REQUIRE_VERIFIED_EMAIL && !emailVerified;
  const data = { email, name, image, createdAt: now, unverifiedExpiresAt: isPending ? unverifiedExpiresAt(now) : null };
  const { id } = await tx.account.create({ data });
  return id;
}

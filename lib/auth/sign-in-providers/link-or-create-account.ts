import type { Context, Tx } from "../../context";
import { AppError, type ErrorCode } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { isUniqueViolation } from "../../platform/database-errors";
import type { Account } from "../../platform/db/generated/client";
import type { Caller, Principal } from "../../principal";
import { accountCreated } from "../../webhooks/events";
import { lockOwnAccount, requireEnabled } from "../account-checks";
import { revokeUnverifiedAccess, unverifiedExpiresAt } from "../email-verification";
import { isEmailReserved } from "../reserved-emails";
import type { AuthenticatedAccount } from "../sessions/issue-session";
import { readStepUpMethods } from "../step-up";
import type { ProviderIdentity } from "./profile";

type Deps = Pick<Context, "config" | "db" | "emails" | "now" | "removeDevices" | "webhooks">;

/** The account of an identity, which has to be linked to it still when its session is created. */
type IdentityOwner = Account & Required<Pick<AuthenticatedAccount, "precondition">>;

type LinkingSession = { account: Principal["account"]; session: Omit<Principal["session"], "via"> } | null | undefined;

/**
 * Returns the account that an identity signs in to: the one it is linked to, one that it links to now, or a new one.
 * `linkingSession` is the session that started the sign-in at the provider, if any: it links only while it is live.
 * @throws AppError account_disabled, identity_unverified, email_taken, identity_in_use, identity_without_email,
 * reauthentication_required, unauthenticated
 */
export async function linkOrCreateAccount(
  ctx: Deps,
  identity: ProviderIdentity,
  linkingSession: LinkingSession,
  caller: Caller,
): Promise<IdentityOwner> {
  const attempt = () => ctx.db.$transaction((tx) => linkOrCreateInTx(ctx, tx, identity, linkingSession, caller));
  // Of concurrent calls, the second finds the rows that the first has created.
  const account = await attempt().catch((error: unknown) => {
    if (isUniqueViolation(error)) return attempt();
    throw error;
  });
  ctx.emails.wake();
  return account;
}

async function linkOrCreateInTx(
  ctx: Deps,
  tx: Tx,
  identity: ProviderIdentity,
  linkingSession: LinkingSession,
  caller: Caller,
): Promise<IdentityOwner> {
  const now = ctx.now();
  const { provider, issuer, subject, email, emailVerified } = identity;
  if (linkingSession) await lockOwnAccount(tx, linkingSession);
  // Rows without an issuer belong to the issuer that is configured.
  await tx.identity.updateMany({ where: { provider, subject, issuer: null }, data: { issuer } });
  const linked = await tx.identity.findUnique({ where: { issuer_subject: { issuer, subject } } });
  const emailAccount = email === null ? null : await tx.account.findUnique({ where: { email } });
  const linkedAccountId = linked?.accountId ?? null;
  // A stolen cookie alone must not be enough to add a way to sign in.
  const session = linkingSession && {
    accountId: linkingSession.account.id,
    isFresh: (await readStepUpMethods({ db: tx, now: ctx.now }, linkingSession)).isFresh,
  };
  const plan = planLink({ identity, linkedAccountId, linkingSession: session, emailAccount });
  if (plan.action === "refuse") throw new AppError(plan.code);
  const accountId =
    plan.action === "create"
      ? await createAccount(ctx, tx, now, { ...identity, email: plan.email }, caller)
      : plan.accountId;
  if (plan.action === "take_over") await revokeUnverifiedAccess(ctx, tx, accountId);
  if (emailVerified && email !== null) {
    const where = { id: accountId, email, emailVerifiedAt: null };
    await tx.account.updateMany({ where, data: { emailVerifiedAt: now } });
  }
  if (plan.action !== "sign_in") {
    await tx.identity.create({ data: { accountId, provider, issuer, subject, createdAt: now } });
    await recordSecurityEvent(tx, now, accountId, "identity_linked", caller, { details: { provider } });
  }
  const account = await tx.account.findUniqueOrThrow({ where: { id: accountId } });
  requireEnabled(account); // rolls back
  const isLinkedNow = plan.action === "link" || plan.action === "take_over";
  if (isLinkedNow) await ctx.emails.enqueue(tx, "identity_linked", account.email, { provider });
  return { ...account, precondition: (tx) => requireIdentity(tx, { issuer, subject, accountId }) };
}

/** Requires that an identity is linked to an account. @throws AppError invalid_credentials */
export async function requireIdentity(
  tx: Tx,
  { issuer, subject, accountId }: Pick<ProviderIdentity, "issuer" | "subject"> & { accountId: string },
): Promise<void> {
  const where = { issuer_subject: { issuer, subject }, accountId };
  if (!(await tx.identity.findUnique({ where, select: { id: true } }))) throw new AppError("invalid_credentials");
}

/** Creates an account without a password. Returns its id. @throws AppError email_taken */
async function createAccount(
  { config, webhooks }: Pick<Deps, "config" | "webhooks">,
  tx: Tx,
  now: Date,
  { email, name, image, emailVerified }: ProviderIdentity & { email: string },
  caller: Caller,
): Promise<string> {
  if (await isEmailReserved(tx, email, now)) throw new AppError("email_taken");
  const isPending = config.AUTH_REQUIRE_VERIFIED_EMAIL && !emailVerified;
  const expiry = { unverifiedExpiresAt: isPending ? unverifiedExpiresAt(now) : null };
  const data = { email, name, image, locale: caller.locale, createdAt: now, ...expiry };
  const { id } = await tx.account.create({ data });
  await recordSecurityEvent(tx, now, id, "registered", caller);
  await webhooks.record(tx, [accountCreated(id)]);
  return id;
}

type LinkInput = {
  identity: { email: string | null; emailVerified: boolean };
  linkedAccountId: string | null;
  /** The session that started the sign-in at the provider: null if it has ended since, undefined if there was none. */
  linkingSession: { accountId: string; isFresh: boolean } | null | undefined;
  emailAccount: { id: string; emailVerifiedAt: Date | null } | null;
};

/** `take_over` links the identity after all access to the account is revoked, unless it was verified meanwhile. */
type LinkPlan =
  | { action: "sign_in" | "link" | "take_over"; accountId: string }
  | { action: "create"; email: string }
  | { action: "refuse"; code: ErrorCode };

/**
 * Decides whether an identity signs in, is linked, creates an account or is refused. Without a session, it is linked to
 * an existing account only if the provider has verified their common email.
 */
function planLink({ identity, linkedAccountId, linkingSession, emailAccount }: LinkInput): LinkPlan {
  if (linkingSession === null) return refuse("unauthenticated");
  if (linkingSession) {
    const { accountId } = linkingSession;
    if (linkedAccountId !== null) {
      return linkedAccountId === accountId ? { action: "sign_in", accountId } : refuse("identity_in_use");
    }
    return linkingSession.isFresh ? { action: "link", accountId } : refuse("reauthentication_required");
  }
  if (linkedAccountId !== null) return { action: "sign_in", accountId: linkedAccountId };
  if (identity.email === null) return refuse("identity_without_email");
  if (!emailAccount) return { action: "create", email: identity.email };
  if (!identity.emailVerified) return refuse("identity_unverified");
  return { action: emailAccount.emailVerifiedAt ? "link" : "take_over", accountId: emailAccount.id };
}

function refuse(code: ErrorCode): LinkPlan {
  return { action: "refuse", code };
}

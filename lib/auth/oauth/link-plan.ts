import type { ErrorCode } from "../../errors";

export type LinkInput = {
  identity: { email: string | null; emailVerified: boolean };
  /** The account that the identity is linked to. */
  linkedAccountId: string | null;
  /** The session that started the sign-in at the provider: null if it has ended since, undefined if there was none. */
  linkingSession: { accountId: string; authenticatedAt: Date } | null | undefined;
  /** The account with the identity's email. */
  emailAccount: { id: string; emailVerifiedAt: Date | null } | null;
  now: Date;
};

/** `take_over` links the identity after all unverified access to the account is revoked. */
export type LinkPlan =
  | { action: "sign_in" | "link" | "take_over"; accountId: string }
  | { action: "create"; email: string }
  | { action: "refuse"; code: ErrorCode };

/** How recent the sign-in of a session must be to link a provider: a stolen cookie alone must not be enough. */
const MAX_AGE_MS = 10 * 60 * 1000;

/**
 * Decides whether an identity signs in, is linked, creates an account or is refused. Without a session, it is linked to
 * an existing account only if the provider has verified their common email.
 */
export function planLink({ identity, linkedAccountId, linkingSession, emailAccount, now }: LinkInput): LinkPlan {
  if (linkingSession === null) return refuse("unauthenticated");
  if (linkingSession) {
    const { accountId, authenticatedAt } = linkingSession;
    if (linkedAccountId !== null) {
      return linkedAccountId === accountId ? { action: "sign_in", accountId } : refuse("identity_in_use");
    }
    const isRecent = now.getTime() - authenticatedAt.getTime() <= MAX_AGE_MS;
    return isRecent ? { action: "link", accountId } : refuse("reauthentication_required");
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

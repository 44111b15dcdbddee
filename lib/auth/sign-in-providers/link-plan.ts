import type { ErrorCode } from "../../errors";

export type LinkInput = {
  identity: { email: string | null; emailVerified: boolean };
  /** The account that the identity is linked to. */
  linkedAccountId: string | null;
  /**
   * The session that started the sign-in at the provider, and whether it was authenticated recently: null if it has ended
   * since, undefined if there was none.
   */
  linkingSession: { accountId: string; isFresh: boolean } | null | undefined;
  /** The account with the identity's email. */
  emailAccount: { id: string; emailVerifiedAt: Date | null } | null;
};

/** `take_over` links the identity after all unverified access to the account is revoked. */
export type LinkPlan =
  | { action: "sign_in" | "link" | "take_over"; accountId: string }
  | { action: "create"; email: string }
  | { action: "refuse"; code: ErrorCode };

/**
 * Decides whether an identity signs in, is linked, creates an account or is refused. Without a session, it is linked to
 * an existing account only if the provider has verified their common email.
 */
export function planLink({ identity, linkedAccountId, linkingSession, emailAccount }: LinkInput): LinkPlan {
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

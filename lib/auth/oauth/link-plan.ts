import type { ErrorCode } from "../../errors";

/** What is known when a person comes back from a provider. */
export type LinkFacts = {
  identity: { email: string | null; emailVerified: boolean };
  /** The account that the identity belongs to already. */
  ownerId: string | null;
  /** Whether the way to the provider began signed in, and if so whether that session still is: null once it ended. */
  startedBy: { accountId: string; authenticatedAt: Date } | null | undefined;
  /** The account that has the identity's e-mail address. */
  local: { id: string; emailVerifiedAt: Date | null } | null;
  now: Date;
};

/** `take_over`: link, after what whoever made the account without proving its address has left there is gone. */
export type LinkPlan =
  | { do: "sign_in" | "link" | "take_over"; accountId: string }
  | { do: "create"; email: string }
  | { do: "refuse"; code: ErrorCode };

/** A session that may add another way to sign in: stealing a cookie must not be enough for that. */
const FRESH_MS = 10 * 60 * 1000;

/**
 * Whether an identity signs in, is linked, makes an account or is refused. Without a session it is linked to an
 * account that exists only where the provider vouches for the address that both have.
 */
export function planLink({ identity, ownerId, startedBy, local, now }: LinkFacts): LinkPlan {
  if (startedBy === null) return refuse("unauthenticated");
  if (startedBy) {
    if (ownerId !== null) {
      return ownerId === startedBy.accountId ? { do: "sign_in", accountId: ownerId } : refuse("identity_in_use");
    }
    const isFresh = now.getTime() - startedBy.authenticatedAt.getTime() <= FRESH_MS;
    return isFresh ? { do: "link", accountId: startedBy.accountId } : refuse("reauthentication_required");
  }
  if (ownerId !== null) return { do: "sign_in", accountId: ownerId };
  if (identity.email === null) return refuse("identity_without_email");
  if (!local) return { do: "create", email: identity.email };
  if (!identity.emailVerified) return refuse("identity_unverified");
  return { do: local.emailVerifiedAt ? "link" : "take_over", accountId: local.id };
}

function refuse(code: ErrorCode): LinkPlan {
  return { do: "refuse", code };
}

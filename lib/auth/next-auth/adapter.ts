import type { Adapter, AdapterUser } from "next-auth/adapters";
import type { Context, Tx } from "../../context";
import type { Account } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import { confirmVerification, type MatchedRegistration } from "../email-verification";
import type { AuthenticatedAccount } from "../sessions/issue-session";
import { requireIdentity } from "../sign-in-providers/link-or-create-account";
import { issuerOf } from "../sign-in-providers/providers";
import { type OnFailure, orNull } from "./catch-refusal";

/** An account as next-auth's "user", with the fields that `issueSession` needs. */
export type AdapterAccount = AdapterUser & Pick<AuthenticatedAccount, "sessionEpoch" | "attempt" | "precondition">;

/**
 * The part of next-auth's adapter that this service needs. Sessions are stored by `lib/auth/sessions`, and
 * `linkOrCreateAccount` links identities before next-auth looks them up. next-auth's "users" are accounts, its
 * "accounts" identities. `registration` is the one that an emailed token confirms.
 */
export function createAdapter(
  ctx: Pick<Context, "config" | "db" | "now" | "removeDevices">,
  { caller, registration }: { caller: Caller; registration: MatchedRegistration | null },
  onFailure: OnFailure,
): Adapter {
  const { db } = ctx;
  const byEmail = async (email: string) => toUser(await db.account.findUnique({ where: { email } }));
  return {
    getUserByAccount: ({ provider, providerAccountId: subject }) =>
      orNull(onFailure, async () => {
        const key = { issuer: issuerOf(ctx.config, provider), subject };
        const where = { issuer_subject: key };
        const identity = await db.identity.findUnique({ where, include: { account: true } });
        const user = toUser(identity?.account);
        return user && { ...user, precondition: (tx: Tx) => requireIdentity(tx, { ...key, accountId: user.id }) };
      }),
    getUserByEmail: (email) => orNull(onFailure, () => byEmail(email)),
    // `useVerificationToken` has verified the email already.
    updateUser: async ({ id }) => {
      const user = toUser(await db.account.findUniqueOrThrow({ where: { id } })) as AdapterAccount;
      const identity = registration?.identity;
      return identity
        ? { ...user, precondition: (tx: Tx) => requireIdentity(tx, { ...identity, accountId: id }) }
        : user;
    },
    // next-auth requires this function. Tokens are created when their email is sent.
    createVerificationToken: () => null,
    // `registration` was found by the token. next-auth's own hash knows one secret only.
    useVerificationToken: ({ token }) =>
      orNull(onFailure, async () => {
        const identifier = registration ? await confirmVerification(ctx, registration, caller) : null;
        // `confirmVerification` has checked the expiry, so next-auth gets the latest date there is.
        return identifier === null ? null : { identifier, token, expires: new Date(8.64e15) };
      }),
  };
}

function toUser(account: Account | null | undefined): AdapterAccount | null {
  if (!account) return null;
  const { id, email, emailVerifiedAt: emailVerified, name, image, sessionEpoch } = account;
  return { id, email, emailVerified, name, image, sessionEpoch };
}

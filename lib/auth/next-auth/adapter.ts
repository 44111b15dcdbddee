import type { Adapter, AdapterUser } from "next-auth/adapters";
import type { Caller } from "../../audit/caller";
import type { Context } from "../../context";
import type { Account } from "../../db/generated/client";
import { issuerOf } from "../oauth/providers";
import { confirmVerification, type MatchedRegistration } from "../verification/email-verification";
import { type OnFailure, orNull } from "./guard";

/** An account as next-auth's "user": what it reads, and what opening a session needs. */
export type AdapterAccount = AdapterUser & Pick<Account, "sessionEpoch">;

/**
 * What next-auth asks the database, and no more: sessions are ours, and whether an identity is linked or makes an
 * account is decided before it asks (`admitIdentity`). Its "users" are accounts, its "accounts" identities. `proven` is
 * the registration that a mailed link confirms.
 */
export function createAdapter(
  ctx: Pick<Context, "config" | "db" | "now" | "removeDevices">,
  { caller, proven }: { caller: Caller; proven: MatchedRegistration | null },
  onFailure: OnFailure,
): Adapter {
  const { db } = ctx;
  const byEmail = async (email: string) => toUser(await db.account.findUnique({ where: { email } }));
  return {
    getUserByAccount: ({ provider, providerAccountId: subject }) =>
      orNull(onFailure, async () => {
        const where = { issuer_subject: { issuer: issuerOf(ctx.config, provider), subject } };
        const identity = await db.identity.findUnique({ where, include: { account: true } });
        return toUser(identity?.account);
      }),
    getUserByEmail: (email) => orNull(onFailure, () => byEmail(email)),
    // The address was verified with the token; there is nothing left to update.
    updateUser: async ({ id }) => toUser(await db.account.findUniqueOrThrow({ where: { id } })) as AdapterAccount,
    // next-auth wants to see it, but tokens are made where they are mailed.
    createVerificationToken: () => null,
    useVerificationToken: ({ token }) =>
      orNull(onFailure, async () => {
        const identifier = proven ? await confirmVerification(ctx, token, proven, caller) : null;
        // Whether it had expired is decided, by our clock.
        return identifier === null ? null : { identifier, token, expires: new Date(8.64e15) };
      }),
  };
}

function toUser(account: Account | null | undefined): AdapterAccount | null {
  if (!account) return null;
  const { id, email, emailVerifiedAt: emailVerified, name, image, sessionEpoch } = account;
  return { id, email, emailVerified, name, image, sessionEpoch };
}

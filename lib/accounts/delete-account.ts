import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import type { Principal } from "../auth/authenticate";
import { consumeEmailLimit } from "../auth/limits/email-limits";
import { reauthenticate } from "../auth/passwords/reauthenticate";
import type { Context } from "../context";
import { isLostRace } from "../errors";
import { accountSubscriptions, detachBilling } from "../subscriptions/account-data";
import type { AccountDeleted } from "./schema";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "emails" | "now">;

const MAX_ATTEMPTS = 5;

/**
 * Deletes the caller's account, once the caller has proved again who it is: by the password where there is one,
 * else by having signed in within 10 minutes (App Store Review Guidelines, 5.1.1(v), asks that it can be done).
 * @throws AppError reauthentication_required, rate_limited, overloaded
 */
export async function deleteAccount(
  ctx: Deps,
  principal: Principal,
  password: string | undefined,
  caller: Caller,
): Promise<AccountDeleted> {
  const { id } = principal.account;
  await reauthenticate(ctx, principal, password, caller);
  const subscriptions = await accountSubscriptions(ctx, id);
  const { email, emailVerifiedAt } = await ctx.db.account.findUniqueOrThrow({ where: { id } });
  // Anybody may register an address that is not verified and delete it again, many times.
  const isMailed = emailVerifiedAt !== null || (await consumeEmailLimit(ctx, "verification", email, caller.ip));
  await removeAccount(ctx, id, caller, isMailed);
  ctx.emails.wake();
  return { status: "deleted", subscriptions, storeSubscriptionsCancelled: false };
}

type RemoveDeps = Pick<Deps, "db" | "now"> & { emails: Pick<Deps["emails"], "enqueue"> };

/**
 * Removes an account with everything that hangs on it, in one transaction, and mails its owner where `isMailed`.
 * Security events stay for their 90 days, by the account's id alone; billing history stays, without a trace of whose it
 * was. An event of the same customer that arrives meanwhile may hold what this waits for, and wait for what this holds:
 * whoever PostgreSQL sends away tries again. Returns whether there was such an account.
 */
export async function removeAccount(
  { db, emails, now }: RemoveDeps,
  accountId: string,
  caller: Pick<Caller, "ip" | "client">,
  isMailed: boolean,
): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.$transaction(async (tx) => {
        await detachBilling(tx, accountId);
        const [account] = await tx.$queryRaw<{ email: string }[]>`
          DELETE FROM "Account" WHERE "id" = ${accountId}::uuid RETURNING "email"`;
        if (!account) return false;
        // After the account, as where a reset puts one in.
        await tx.queuedEmail.deleteMany({ where: { email: account.email } });
        await recordSecurityEvent(tx, now(), accountId, "account_deleted", caller);
        if (isMailed) await emails.enqueue(tx, "account_deleted", account.email);
        return true;
      });
    } catch (error) {
      if (tries >= MAX_ATTEMPTS || !isLostRace(error)) throw error;
    }
  }
}

import type { Principal } from "../auth/authenticate";
import { passwordMatches } from "../auth/passwords/comparison";
import type { Context } from "../context";
import { AppError, isLostRace } from "../errors";
import { accountSubscriptions, detachBilling } from "../subscriptions/account-data";
import type { AccountDeleted } from "./schema";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** How fresh a sign-in has to be where there is no password to ask for. */
const FRESH_MS = 10 * 60 * 1000;
const MOST_TRIES = 5;

/**
 * Deletes the caller's account, once the caller has proved again who it is: by the password where there is one,
 * else by having signed in within 10 minutes (App Store Review Guidelines, 5.1.1(v), asks that it can be done).
 * @throws AppError reauthentication_required, rate_limited, overloaded
 */
export async function deleteAccount(
  ctx: Deps,
  principal: Principal,
  password: string | undefined,
): Promise<AccountDeleted> {
  const { id } = principal.account;
  await ctx.limits.consume("deleteByAccount", id);
  const isProved = await provesAgain(ctx, principal, password).catch(async (error: unknown) => {
    await ctx.limits.giveBack("deleteByAccount", id);
    throw error;
  });
  if (!isProved) throw new AppError("reauthentication_required");
  const subscriptions = await accountSubscriptions(ctx, id);
  await removeAccount(ctx, id);
  return { status: "deleted", subscriptions, storeSubscriptionsCancelled: false };
}

async function provesAgain(ctx: Deps, { account, session }: Principal, password: string | undefined): Promise<boolean> {
  const { passwordHash } = await ctx.db.account.findUniqueOrThrow({
    where: { id: account.id },
    select: { passwordHash: true },
  });
  if (passwordHash === null) return ctx.now().getTime() - session.authenticatedAt.getTime() <= FRESH_MS;
  return password !== undefined && (await passwordMatches(ctx, password, passwordHash));
}

/**
 * Removes an account with everything that hangs on it, in one transaction; billing history stays, without a trace
 * of whose it was. An event of the same customer that arrives meanwhile may hold what this waits for, and wait for
 * what this holds: whoever PostgreSQL sends away tries again. Returns whether there was such an account.
 */
export async function removeAccount({ db }: Pick<Deps, "db">, accountId: string): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.$transaction(async (tx) => {
        await detachBilling(tx, accountId);
        const [account] = await tx.$queryRaw<{ email: string }[]>`
          DELETE FROM "Account" WHERE "id" = ${accountId}::uuid RETURNING "email"`;
        // After the account, as where a reset puts one in.
        if (account) await tx.queuedMail.deleteMany({ where: { email: account.email } });
        return account !== undefined;
      });
    } catch (error) {
      if (tries >= MOST_TRIES || !isLostRace(error)) throw error;
    }
  }
}

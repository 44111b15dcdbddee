import type { Principal } from "../auth/authenticate";
import { passwordMatches } from "../auth/passwords";
import type { Context } from "../context";
import { AppError } from "../errors";
import { accountSubscriptions, detachBilling } from "../subscriptions/account-data";
import type { AccountDeleted } from "./schema";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** How fresh a sign-in has to be where there is no password to ask for. */
const FRESH_MS = 10 * 60 * 1000;

/**
 * Deletes an account with everything that hangs on it; billing history stays, without a trace of whose it was.
 * @throws AppError reauthentication_required, rate_limited
 */
export async function deleteAccount(
  ctx: Deps,
  { account, session }: Principal,
  password: string | undefined,
): Promise<AccountDeleted> {
  await ctx.limits.consume("deleteByAccount", account.id);
  const proved =
    account.passwordHash === null
      ? ctx.now().getTime() - session.authenticatedAt.getTime() <= FRESH_MS
      : password !== undefined && (await passwordMatches(ctx, password, account.passwordHash));
  if (!proved) throw new AppError("reauthentication_required");
  const subscriptions = await accountSubscriptions(ctx, account.id);
  await ctx.db.$transaction(async (tx) => {
    await detachBilling(tx, account.id);
    await tx.account.deleteMany({ where: { id: account.id } });
  });
  return { status: "deleted", subscriptions, storeSubscriptionsCancelled: false };
}

import { lockAccount } from "../../auth/account-checks";
import { emailedToken, findEmailedToken } from "../../auth/emailed-token";
import { revokeAllSessions } from "../../auth/sessions/sessions";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import { isUuid } from "../../platform/db/ids";
import { isSameSecret } from "../../platform/keys/same-secret";
import type { Caller } from "../../principal";

type Deps = Pick<Context, "config" | "db" | "emails" | "limits" | "now" | "removeDevices">;

type Config = Pick<Context["config"], "secrets">;

const NOT_ME_TTL_SECONDS = 30 * 24 * 60 * 60;
/** ACCOUNT.EPOCH.EXPIRY.HMAC */
const TOKEN = /^(([0-9a-f-]{36})\.(\d{1,9})\.(\d{1,12}))\.([\w-]{43})$/;

/**
 * The token of an email's link "This was not me", valid for 30 days. It names the account's epoch, which its use
 * increments: it works once, and no longer after a password reset, which has ended the sessions already. Nothing is
 * stored.
 */
export function notMeToken(
  { config, now }: { config: Config; now: () => Date },
  account: { id: string; sessionEpoch: number },
): string {
  const expiry = Math.floor(now().getTime() / 1000) + NOT_ME_TTL_SECONDS;
  const claims = `${account.id}.${account.sessionEpoch}.${expiry}`;
  return `${claims}.${emailedToken(config, "not-me", claims)}`;
}

/** The account and the epoch of a token; null if the token is invalid. */
function readToken({ config, now }: { config: Config; now: () => Date }, token: string) {
  const [, claims = "", accountId = "", epoch, expiry, given = ""] = TOKEN.exec(token) ?? [];
  const isGiven = (expected: string) => isSameSecret(expected, given);
  if (!isUuid(accountId) || findEmailedToken(config, "not-me", claims, isGiven) === null) return null;
  return Number(expiry) * 1000 > now().getTime() ? { accountId, epoch: Number(epoch) } : null;
}

/**
 * Ends every session of an account whose owner did not cause what an email reports, forgets its clients, and sends a
 * link that resets the password. The emailed token works once and signs nobody in. It changes no password by itself,
 * because it is valid for longer than a link that may do that.
 * @throws AppError invalid_or_expired_token, rate_limited
 */
export async function reportNotMe(ctx: Deps, token: string, caller: Caller): Promise<void> {
  await ctx.limits.consume("notMeByIp", caller.ip);
  const found = readToken(ctx, token);
  if (!found) throw new AppError("invalid_or_expired_token");
  const { accountId, epoch } = found;
  await ctx.db.$transaction(async (tx) => {
    await lockAccount(tx, accountId);
    const account = await tx.account.findUnique({ where: { id: accountId, sessionEpoch: epoch } });
    if (!account) throw new AppError("invalid_or_expired_token");
    const at = ctx.now();
    const sessions = await revokeAllSessions(ctx, tx, at, accountId);
    await recordSecurityEvent(tx, at, accountId, "reported_not_me", caller, { details: { sessions } });
    await ctx.emails.enqueue(tx, "password_reset", account.email);
  });
  ctx.emails.wake();
}

import type { Context } from "../context";
import { AppError } from "../errors";
import type { ReadableHeaders } from "./authenticate";
import { passwordMatches } from "./passwords";
import { recordSecurityEvent } from "./security-events";
import { openSession, sessionToken, type Transport } from "./sessions";

const CLIENT_LENGTH = 256;

/** Where a sign-in comes from. `address` is the limits' key, IPv6 cut to /64; `client` the user agent, cut. */
export type Caller = { address: string; client: string | null };

/** What a call says of its origin, in the words that the session's row keeps. */
export function callerOf(request: { headers: ReadableHeaders }, address: string): Caller {
  return { address, client: request.headers.get("user-agent")?.slice(0, CLIENT_LENGTH) ?? null };
}

/**
 * The one password check, behind /login and next-auth alike, so that both share its counters. Counts before it
 * looks anything up, and costs the same whether the address is known or not.
 * @throws AppError invalid_credentials, rate_limited, overloaded
 */
export async function verifyPassword(
  ctx: Pick<Context, "config" | "db" | "hasher" | "limits" | "now">,
  { email, password }: { email: string; password: string },
  caller: Caller,
) {
  const emailKey = ctx.limits.privateKey(email);
  await ctx.limits.consume("loginByAddress", caller.address);
  await ctx.limits.consume("loginByEmail", emailKey);
  const account = await ctx.db.account.findUnique({ where: { email } });
  if (!(await passwordMatches(ctx, password, account?.passwordHash ?? null)) || !account) {
    if (account) await recordSecurityEvent(ctx.db, ctx.now(), account.id, "sign_in_failed", caller);
    throw new AppError("invalid_credentials");
  }
  await ctx.limits.reset("loginByEmail", emailKey);
  return account;
}

/** Signs an account in. Returns the session's row, the claims of its token, and the token. */
export async function issueSession(
  ctx: Pick<Context, "config" | "db" | "now">,
  account: { id: string; sessionEpoch: number },
  how: { transport: Transport; deviceName: string | null },
  caller: Caller,
) {
  const now = ctx.now();
  const { session, claims } = await ctx.db.$transaction(async (tx) => {
    const opened = await openSession(tx, now, account, { ...how, client: caller.client });
    await recordSecurityEvent(tx, now, account.id, "signed_in", caller);
    return opened;
  });
  return { session, claims, token: await sessionToken(ctx, claims) };
}

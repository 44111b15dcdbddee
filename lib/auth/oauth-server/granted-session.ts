import type { Caller } from "../../audit/caller";
import type { OAuthClient } from "../../config/oauth-clients";
import type { Context, Tx } from "../../context";
import { AppError, type ErrorCode, isAppError } from "../../errors";
import type { Principal } from "../authenticate";
import type { Aal, Amr } from "../sessions/authentication";
import { issueSession } from "../sessions/issue-session";
import { revokeSession } from "../sessions/sessions";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["account_disabled", "invalid_credentials"]);

/** The account that allowed a client, its epoch at that time, and when and how its owner was last authenticated. */
export type Grant = {
  accountId: string;
  sessionEpoch: number;
  authenticatedAt: Date | null;
  aal: number;
  amr: readonly string[];
};

/** The grant of a signed-in account. */
export function grantOf({ account, session }: Pick<Principal, "account" | "session">) {
  const { authenticatedAt, aal, amr } = session;
  return { accountId: account.id, sessionEpoch: account.sessionEpoch, authenticatedAt, aal, amr };
}

/**
 * Deletes an account's pending grants when its sessions end. Otherwise an ended session's grant could be exchanged for
 * a new session. An exchange in progress finds its code deleted, and ends the session that it has created.
 */
export async function revokeGrants(tx: Tx, accountId: string): Promise<void> {
  await tx.authorizationCode.deleteMany({ where: { accountId, sessionId: null } });
  await tx.deviceCode.deleteMany({ where: { accountId } });
}

/**
 * Exchanges a used code for the session of a client that an account has allowed. Its token is the access token. Its
 * authentication is as old as that of the session that allowed it: a stolen session cannot get a fresh one this way.
 * `confirm` updates the code, and returns how many rows: none if it was revoked, or presented again, meanwhile.
 * @throws AppError invalid_grant also if the account was deleted or disabled, or its sessions were ended, since
 */
export async function exchangeGrant(
  ctx: Deps,
  { client, grant, caller }: { client: OAuthClient; grant: Grant; caller: Caller },
  confirm: (sessionId: string) => Promise<{ count: number }>,
) {
  const issued = await issueGrantedSession(ctx, client, grant, caller);
  const { count } = await confirm(issued.session.id);
  if (count > 0) return issued;
  await revokeSession(ctx, issued.session.id);
  throw new AppError("invalid_grant");
}

async function issueGrantedSession(
  ctx: Deps,
  client: OAuthClient,
  { accountId, sessionEpoch, authenticatedAt, aal, amr }: Grant,
  caller: Caller,
) {
  const account = await ctx.db.account.findUnique({ where: { id: accountId }, select: { email: true } });
  if (!account) throw new AppError("invalid_grant");
  const owner = { id: accountId, email: account.email, sessionEpoch };
  const authentication = { aal: aal as Aal, amr: amr as Amr[], authenticatedAt: authenticatedAt ?? new Date(0) };
  const options = { authentication, transport: "token", deviceName: client.name } as const;
  try {
    return await issueSession(ctx, owner, options, caller);
  } catch (error) {
    throw isAppError(error) && REFUSALS.has(error.code) ? new AppError("invalid_grant") : error;
  }
}

import type { Caller } from "../../audit/caller";
import type { OAuthClient } from "../../config/oauth-clients";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import { issueSession } from "../sign-in";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "limits" | "now" | "removeDevices">;

/**
 * Creates the session of a client that an account has allowed. Its token is the access token.
 * @throws AppError invalid_grant if the account was deleted, or its sessions were ended, since
 */
export async function createGrantedSession(
  ctx: Deps,
  client: OAuthClient,
  { accountId, sessionEpoch }: { accountId: string; sessionEpoch: number },
  caller: Caller,
) {
  const account = await ctx.db.account.findUnique({ where: { id: accountId }, select: { email: true } });
  if (!account) throw new AppError("invalid_grant");
  const owner = { id: accountId, email: account.email, sessionEpoch };
  try {
    return await issueSession(ctx, owner, { transport: "token", deviceName: client.name }, caller);
  } catch (error) {
    throw isAppError(error) && error.code === "invalid_credentials" ? new AppError("invalid_grant") : error;
  }
}

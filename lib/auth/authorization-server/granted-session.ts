import { createHash, randomBytes } from "node:crypto";
import type { Context, Tx } from "../../context";
import { AppError, type ErrorCode, isAppError } from "../../errors";
import type { OAuthClient } from "../../platform/config/oauth-clients";
import type { Caller, Principal } from "../../principal";
import type { Authentication } from "../sessions/authentication";
import { issueSession } from "../sessions/issue-session";
import { revokeSession } from "../sessions/sessions";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["account_disabled", "invalid_credentials"]);

/** The account that allowed a client, its epoch and session then, and how the new session counts as authenticated. */
export type Grant = { accountId: string; sessionEpoch: number; grantingSessionId: string | null } & Authentication;

/** What a session grants to another device proves nothing about who holds that device. */
export const BY_OTHER_DEVICE = { aal: 1, amr: [], authenticatedAt: new Date(0) } as const satisfies Authentication;

export function grantOf({ account, session }: Pick<Principal, "account" | "session">) {
  return { accountId: account.id, sessionEpoch: account.sessionEpoch, grantingSessionId: session.id };
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
 * Exchanges a used code for the session of a client that an account has allowed. Its token is the access token.
 * `confirm` updates the code, and returns how many rows: none if it was revoked, or presented again, meanwhile.
 * @throws AppError invalid_grant also if the account was deleted or disabled, or the session that allowed it was ended, since
 */
export async function exchangeGrant(
  ctx: Deps,
  { client, grant, caller }: { client: OAuthClient; grant: Grant; caller: Caller },
  confirm: (sessionId: string) => Promise<{ count: number }>,
) {
  if (!(await isLive(ctx, grant))) throw new AppError("invalid_grant");
  const issued = await issueGrantedSession(ctx, client, grant, caller);
  const { count } = await confirm(issued.session.id);
  if (count > 0 && (await isLive(ctx, grant))) return issued; // it may have been ended meanwhile
  await revokeSession(ctx, issued.session.id);
  throw new AppError("invalid_grant");
}

/** Whether the session that allowed a client has not ended. */
async function isLive({ db, now }: Pick<Deps, "db" | "now">, { grantingSessionId: id }: Grant): Promise<boolean> {
  if (id === null) return false; // by a build that did not store it
  const at = now();
  const live = { revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } };
  return (await db.session.findFirst({ where: { id, ...live }, select: { id: true } })) !== null;
}

async function issueGrantedSession(
  ctx: Deps,
  client: OAuthClient,
  { accountId, sessionEpoch, aal, amr, authenticatedAt, operatorRights }: Grant,
  caller: Caller,
) {
  const account = await ctx.db.account.findUnique({ where: { id: accountId }, select: { email: true } });
  if (!account) throw new AppError("invalid_grant");
  const owner = { id: accountId, email: account.email, sessionEpoch };
  const authentication = { aal, amr, authenticatedAt, operatorRights };
  const options = { authentication, transport: "token", deviceName: client.name } as const;
  try {
    return await issueSession(ctx, owner, options, caller);
  } catch (error) {
    throw isAppError(error) && REFUSALS.has(error.code) ? new AppError("invalid_grant") : error;
  }
}

/** A new authorization code or device code: 256 random bits. */
export function newCode(): string {
  return randomBytes(32).toString("base64url");
}

/** The base64url of a SHA-256: a code as it is stored, and a code verifier's challenge (RFC 7636, section 4.6). */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

import { revokeGrants } from "../auth/authorization-server/granted-session";
import { lockAccountForSignOut, revokeSessionInTx, signOut } from "../auth/sessions/sessions";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { recordSecurityEvent } from "../platform/audit/security-events";
import type { Caller } from "../principal";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

/** The condition of an account's live sessions. */
export function liveSessions(accountId: string, at: Date) {
  return { accountId, revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } };
}

/** An account's live sessions, last used first. */
export async function listSessions({ db, now }: { db: Tx; now: () => Date }, accountId: string) {
  return db.session.findMany({
    where: liveSessions(accountId, now()),
    orderBy: [{ lastSeenAt: "desc" }, { id: "desc" }],
    select: { id: true, transport: true, userAgent: true, deviceName: true, createdAt: true, lastSeenAt: true },
  });
}

/** Revokes a live session of an account, with its devices. @throws AppError not_found, also for another account's */
export async function revokeOwnSession(deps: Deps, accountId: string, sessionId: string, caller: Caller) {
  const sessions = await listSessions(deps, accountId);
  if (!sessions.some(({ id }) => id === sessionId)) throw new AppError("not_found");
  await signOut(deps, { sub: accountId, sid: sessionId }, caller);
}

/** Revokes every session of an account except `keep`, and what they have allowed. Returns how many. */
export async function revokeOtherSessions(deps: Deps, accountId: string, keep: string, caller: Caller) {
  return deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, accountId);
    return revokeOtherSessionsInTx(deps, tx, accountId, keep, caller);
  });
}

/** The same inside a transaction that has locked the account. */
export async function revokeOtherSessionsInTx(
  deps: Pick<Deps, "now" | "removeDevices">,
  tx: Tx,
  accountId: string,
  keep: string,
  caller: Caller,
) {
  const now = deps.now();
  await revokeGrants(tx, accountId);
  const others = (await listSessions({ db: tx, now: () => now }, accountId)).filter(({ id }) => id !== keep);
  for (const { id } of others) {
    if (await revokeSessionInTx(deps, tx, now, id)) await recordSecurityEvent(tx, now, accountId, "signed_out", caller);
  }
  return others.length;
}

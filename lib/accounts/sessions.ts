import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import { revokeSessionInTx } from "../auth/sessions/sessions";
import { lockAccountForSignOut, signOut } from "../auth/sessions/sign-out";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";

type Deps = Pick<Context, "db" | "now">;

/** An account's open sessions, last used first. */
export async function listSessions({ db, now }: { db: Tx; now: () => Date }, accountId: string) {
  const at = now();
  return db.session.findMany({
    where: { accountId, revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } },
    orderBy: [{ lastSeenAt: "desc" }, { id: "desc" }],
    select: { id: true, transport: true, userAgent: true, deviceName: true, createdAt: true, lastSeenAt: true },
  });
}

/**
 * Ends one open session of an account and what it registered.
 * @throws AppError not_found, for somebody else's session and for one that has ended as well.
 */
export async function revokeOwnSession(
  deps: Deps,
  accountId: string,
  sessionId: string,
  caller: Caller,
): Promise<void> {
  const open = await listSessions(deps, accountId);
  if (!open.some(({ id }) => id === sessionId)) throw new AppError("not_found");
  await signOut(deps, { sub: accountId, sid: sessionId }, caller);
}

/** Signing out elsewhere: ends every session of the account but `keep`. Returns how many ended. */
export async function revokeOtherSessions(
  deps: Deps,
  accountId: string,
  keep: string,
  caller: Caller,
): Promise<number> {
  return deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, accountId);
    return revokeOtherSessionsInTx(tx, deps.now(), { accountId, keep }, caller);
  });
}

/** The same within a transaction that has locked the account. */
export async function revokeOtherSessionsInTx(
  tx: Tx,
  now: Date,
  { accountId, keep }: { accountId: string; keep: string },
  caller: Caller,
): Promise<number> {
  const others = (await listSessions({ db: tx, now: () => now }, accountId)).filter(({ id }) => id !== keep);
  for (const { id } of others) {
    if (await revokeSessionInTx(tx, now, id)) await recordSecurityEvent(tx, now, accountId, "signed_out", caller);
  }
  return others.length;
}

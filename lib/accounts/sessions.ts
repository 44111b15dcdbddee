import { revokeGrants } from "../auth/authorization-server/granted-session";
import { lockAccountForSignOut, revokeSessionInTx, signOut } from "../auth/sessions/sessions";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { type EventExtra, recordSecurityEvent } from "../platform/audit/security-events";
import type { Prisma } from "../platform/db/generated/client";
import { isUuid } from "../platform/db/ids";
import type { Caller } from "../principal";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

const LAST_USED_FIRST: Prisma.SessionOrderByWithRelationInput[] = [{ lastSeenAt: "desc" }, { id: "desc" }];

/** The condition of an account's live sessions. */
export function liveSessions(accountId: string, at: Date) {
  return { accountId, revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } };
}

/** An account's live sessions, last used first. */
export async function listSessions({ db, now }: { db: Tx; now: () => Date }, accountId: string) {
  return db.session.findMany({
    where: liveSessions(accountId, now()),
    orderBy: LAST_USED_FIRST,
    select: { id: true, transport: true, userAgent: true, deviceName: true, createdAt: true, lastSeenAt: true },
  });
}

/**
 * Revokes a session of an account, with its devices, also an expired one: an instance whose clock is behind accepts it.
 * @throws AppError not_found for one that was revoked, and for another account's
 */
export async function revokeOwnSession(deps: Deps, accountId: string, sessionId: string, caller: Caller) {
  const where = { id: sessionId, accountId, revokedAt: null };
  const isFound = isUuid(sessionId) && (await deps.db.session.findUnique({ where, select: { id: true } })) !== null;
  if (!isFound) throw new AppError("not_found");
  await signOut(deps, { sub: accountId, sid: sessionId }, caller);
}

/** Revokes every session of an account except `keep`, and what they have allowed. */
export async function revokeOtherSessions(deps: Deps, accountId: string, keep: string, caller: Caller) {
  await deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, accountId);
    await revokeOtherSessionsInTx(deps, tx, accountId, keep, caller);
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
  await revokeSessionsInTx(deps, tx, { accountId, revokedAt: null, id: { not: keep } }, caller);
}

/**
 * Revokes the sessions of a locked account that meet a condition, what the account's sessions have allowed, and its sign-ins
 * that wait for a second factor. An expired session is revoked without an event: an instance whose clock is behind accepts it.
 */
export async function revokeSessionsInTx(
  deps: Pick<Deps, "now" | "removeDevices">,
  tx: Tx,
  where: Prisma.SessionWhereInput & { accountId: string },
  caller: Caller,
  extra: EventExtra = {},
) {
  const now = deps.now();
  const { accountId } = where;
  await revokeGrants(tx, accountId);
  await tx.signInChallenge.deleteMany({ where: { accountId } });
  const select = { id: true, expiresAt: true, idleExpiresAt: true };
  const sessions = await tx.session.findMany({ where, orderBy: LAST_USED_FIRST, select });
  for (const { id, expiresAt, idleExpiresAt } of sessions) {
    const isExpired = expiresAt <= now || idleExpiresAt <= now;
    if ((await revokeSessionInTx(deps, tx, now, id)) && !isExpired)
      await recordSecurityEvent(tx, now, accountId, "signed_out", caller, extra);
  }
}

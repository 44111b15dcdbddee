import { revokeSessionInTx } from "../../auth/sessions/sessions";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { lockAccount, revokeAccountSessionsInTx } from "./change-account";
import type { AccountChange, WithReason } from "./schema";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

/** Revokes every session of an account, and removes its devices. @throws AppError not_found */
export function revokeAccountSessions(
  deps: Deps,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
): Promise<AccountChange> {
  return deps.db.$transaction(async (tx) => {
    const account = await lockAccount(tx, id);
    const ended = await revokeAccountSessionsInTx(deps, tx, operator, { id, reason });
    return { account, isChanged: ended.sessionsEnded + ended.devicesRemoved > 0, ...ended };
  });
}

/**
 * Revokes one session of an account, and removes the devices that it registered.
 * @throws AppError not_found, also for a session that has ended
 */
export function revokeAccountSession(
  deps: Deps,
  operator: Operator,
  { accountId, sessionId }: { accountId: string; sessionId: string },
  { reason }: WithReason = {},
): Promise<AccountChange> {
  return deps.db.$transaction(async (tx) => {
    const account = await lockAccount(tx, accountId);
    const at = deps.now();
    const isLive = { accountId, revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } };
    const session = await tx.session.findFirst({ where: { id: sessionId, ...isLive }, select: { id: true } });
    if (session === null) throw new AppError("not_found");
    const devicesRemoved = await tx.pushDevice.count({ where: { sessionId } });
    await revokeSessionInTx(deps, tx, at, sessionId);
    const ended = { sessionsEnded: 1, devicesRemoved };
    await recordAccountChange(tx, at, operator, accountId, { type: "signed_out", details: ended, reason });
    return { account, isChanged: true, ...ended };
  });
}

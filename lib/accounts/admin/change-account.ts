import { revokeAllSessions } from "../../auth/sessions/sessions";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { SUMMARY } from "./account-columns";
import type { AccountChange, AccountSummary } from "./schema";

type Deps = Pick<Context, "now" | "removeDevices">;

/** What a change ends. */
export type Ended = Pick<AccountChange, "sessionsEnded" | "devicesRemoved">;
export const NOTHING_ENDED: Ended = { sessionsEnded: 0, devicesRemoved: 0 };

/**
 * Locks an account that an operator changes, so that concurrent changes run one after the other. @throws AppError not_found
 */
export async function lockAccount(tx: Tx, id: string): Promise<AccountSummary> {
  await tx.$queryRaw`SELECT 1 FROM "Account" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
  const account = await tx.account.findUnique({ where: { id }, select: SUMMARY });
  if (account === null) throw new AppError("not_found");
  return account;
}

/** Revokes every session of a locked account, and removes its devices. Records an event if there were any. */
export async function revokeAccountSessionsInTx(
  deps: Deps,
  tx: Tx,
  operator: Operator,
  { id, reason }: { id: string; reason?: string },
): Promise<Ended> {
  const at = deps.now();
  const isLive = { accountId: id, revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } };
  const sessionsEnded = await tx.session.count({ where: isLive });
  const devicesRemoved = await tx.pushDevice.count({ where: { accountId: id } });
  await revokeAllSessions(deps, tx, at, id);
  if (sessionsEnded + devicesRemoved > 0) {
    const details = { sessionsEnded, devicesRemoved };
    await recordAccountChange(tx, at, operator, id, { type: "signed_out", details, reason });
  }
  return { sessionsEnded, devicesRemoved };
}

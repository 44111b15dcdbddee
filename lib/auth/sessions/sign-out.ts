import type { Context, Tx } from "../../context";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller } from "../../principal";
import { revokeSessionInTx } from "./sessions";
import type { Claims } from "./token";

type Deps = Pick<Context, "db" | "now" | "removeDevices">;

/** Revokes a session and records it as a security event. Does nothing to a revoked session. */
export async function signOut(deps: Deps, { sub, sid }: Pick<Claims, "sub" | "sid">, caller: Caller): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, sub);
    const at = deps.now();
    if (await revokeSessionInTx(deps, tx, at, sid)) await recordSecurityEvent(tx, at, sub, "signed_out", caller);
  });
}

/** Locks the account before its sessions, in the order of account deletion and `revokeAllSessions`: no deadlock. */
export async function lockAccountForSignOut(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "Account" WHERE "id" = ${accountId}::uuid FOR KEY SHARE`;
}

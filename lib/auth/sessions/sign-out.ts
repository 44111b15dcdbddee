import type { Caller } from "../../audit/caller";
import { recordSecurityEvent } from "../../audit/security-events";
import type { Context, Tx } from "../../context";
import { revokeSessionInTx } from "./sessions";
import type { Claims } from "./token";

/**
 * Signs out: ends the session, with the devices that it registered, and writes it down, in one transaction; nothing
 * where it has ended already.
 */
export async function signOut(
  { db, now }: Pick<Context, "db" | "now">,
  { sub, sid }: Pick<Claims, "sub" | "sid">,
  caller: Caller,
): Promise<void> {
  await db.$transaction(async (tx) => {
    await lockAccountForSignOut(tx, sub);
    const at = now();
    if (await revokeSessionInTx(tx, at, sid)) await recordSecurityEvent(tx, at, sub, "signed_out", caller);
  });
}

/** What deletes an account or ends all its sessions locks it first, too: neither waits for what the other has. */
export async function lockAccountForSignOut(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM "Account" WHERE "id" = ${accountId}::uuid FOR KEY SHARE`;
}

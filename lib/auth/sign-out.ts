import type { Context } from "../context";
import type { Caller } from "./credentials";
import { recordSecurityEvent } from "./security-events";
import { revokeSession } from "./sessions";
import type { Claims } from "./tokens";

/** Signs out: ends the session, with the devices that it registered, and writes it down. */
export async function signOut(
  ctx: Pick<Context, "db" | "now">,
  { sub, sid }: Pick<Claims, "sub" | "sid">,
  caller: Caller,
): Promise<void> {
  await revokeSession(ctx, sid);
  await recordSecurityEvent(ctx.db, ctx.now(), sub, "signed_out", caller);
}

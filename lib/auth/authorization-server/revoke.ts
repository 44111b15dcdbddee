import type { Context } from "../../context";
import type { Caller } from "../../principal";
import { findSession } from "../sessions/sessions";
import { signOut } from "../sessions/sign-out";
import { findClient } from "./clients";

type Deps = Pick<Context, "config" | "db" | "now" | "removeDevices">;

/**
 * Ends the session of an access token (RFC 7009, section 2.1). Does nothing for an invalid token.
 * @throws AppError invalid_client
 */
export async function revokeToken(ctx: Deps, clientId: string, token: string, caller: Caller): Promise<void> {
  findClient(ctx.config, clientId);
  const found = await findSession(ctx, token);
  if (found?.session.transport === "token") await signOut(ctx, found.claims, caller);
}

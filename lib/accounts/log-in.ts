import type { Caller } from "../audit/caller";
import type { Transport } from "../auth/sessions/sessions";
import { issueSession, verifyPassword } from "../auth/sign-in";
import type { Context } from "../context";
import { type Login, toUser } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/**
 * Signs in with an email and a password.
 * @throws AppError invalid_credentials, email_not_verified, rate_limited, overloaded
 */
export async function logIn(ctx: Deps, login: Login, transport: Transport, caller: Caller) {
  const account = await verifyPassword(ctx, login, caller);
  const deviceName = login.deviceName ?? null;
  const { session, token } = await issueSession(ctx, account, { transport, deviceName }, caller);
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}

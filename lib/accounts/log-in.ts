import type { Caller } from "../audit/caller";
import { BY_PASSWORD } from "../auth/sessions/authentication";
import type { Transport } from "../auth/sessions/sessions";
import { issueSession, verifyPassword } from "../auth/sign-in";
import type { Context } from "../context";
import { type Login, toUser } from "./schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "hasher" | "limits" | "emails" | "now" | "removeDevices">;

/** The errors of `logIn`. */
export const LOGIN_ERRORS = [
  "invalid_credentials",
  "account_disabled",
  "email_not_verified",
  "rate_limited",
  "overloaded",
] as const;

/**
 * Signs in with an email and a password.
 * @throws AppError invalid_credentials, account_disabled, email_not_verified, rate_limited, overloaded
 */
export async function logIn(ctx: Deps, login: Login, transport: Transport, caller: Caller) {
  const account = await verifyPassword(ctx, login, caller);
  const options = { authentication: BY_PASSWORD, transport, deviceName: login.deviceName ?? null };
  const { session, token } = await issueSession(ctx, account, options, caller);
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}

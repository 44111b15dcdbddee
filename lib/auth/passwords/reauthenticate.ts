import type { Caller } from "../../audit/caller";
import { recordSecurityEvent } from "../../audit/security-events";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Principal } from "../authenticate";
import { beginReauthentication, clearAttempt, recordFailure, withdrawAttempt } from "../limits/sign-in-throttle";
import { passwordMatches } from "./password-hash";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** How recent the sign-in to an account without a password must be. */
const MAX_AGE_MS = 10 * 60 * 1000;

/**
 * Authenticates a signed-in caller again before a sensitive action: by the account's password, or if it has none by a
 * sign-in of the last 10 minutes. Wrong passwords are throttled as in a sign-in, and recorded as security events.
 * @throws AppError reauthentication_required, rate_limited, overloaded
 */
export async function reauthenticate(
  ctx: Deps,
  { account: { id }, session }: Principal,
  password: string | undefined,
  caller: Caller,
): Promise<void> {
  const where = { id };
  const { passwordHash } = await ctx.db.account.findUniqueOrThrow({ where, select: { passwordHash: true } });
  if (passwordHash === null) {
    if (ctx.now().getTime() - session.authenticatedAt.getTime() <= MAX_AGE_MS) return;
    throw new AppError("reauthentication_required");
  }
  if (password === undefined) throw passwordError("required", "Is required");
  const attempt = await beginReauthentication(ctx, id);
  const isCorrect = await passwordMatches(ctx, password, passwordHash).catch(async (error: unknown) => {
    await withdrawAttempt(ctx, attempt);
    throw error;
  });
  if (isCorrect) return clearAttempt(ctx.db, attempt);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, ctx.now(), attempt);
    await recordSecurityEvent(tx, ctx.now(), id, "sign_in_failed", caller);
  });
  throw passwordError("incorrect", "This is not your password");
}

function passwordError(code: string, detail: string): AppError {
  return new AppError("reauthentication_required", { errors: [{ pointer: "/password", code, detail }] });
}

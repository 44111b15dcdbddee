import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller } from "../../principal";
import { beginReauthentication, clearAttempt, recordFailure, refundAttempt } from "../limits/sign-in-throttle";
import { isPasswordCorrect } from "./password-hash";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/**
 * Checks the password of a signed-in caller. Wrong passwords are throttled as in a sign-in, and recorded in the audit
 * trail. @throws AppError reauthentication_required with the field, rate_limited, overloaded
 */
export async function confirmPassword(
  ctx: Deps,
  { id, passwordHash }: { id: string; passwordHash: string },
  password: string,
  caller: Caller,
): Promise<void> {
  const attempt = await beginReauthentication(ctx, id);
  const isCorrect = await isPasswordCorrect(ctx, password, passwordHash).catch(async (error: unknown) => {
    await refundAttempt(ctx, attempt);
    throw error;
  });
  if (isCorrect) return clearAttempt(ctx.db, attempt);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, ctx.now(), attempt);
    await recordSecurityEvent(tx, ctx.now(), id, "sign_in_failed", caller);
  });
  const errors = [{ pointer: "/password", code: "incorrect", detail: "This is not your password" }];
  throw new AppError("reauthentication_required", { errors });
}

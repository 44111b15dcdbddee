import type { Caller } from "../../audit/caller";
import { recordSecurityEvent } from "../../audit/security-events";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Principal } from "../authenticate";
import { beginReauthentication, clearAttempt, recordFailure, withdrawAttempt } from "../limits/sign-in-throttle";
import { passwordMatches } from "./password-hash";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** How fresh a sign-in has to be where there is no password to ask for. */
const FRESH_MS = 10 * 60 * 1000;

/**
 * Has somebody who is signed in prove again who they are, before what cannot be undone: by the account's password, or
 * where it has none by a sign-in of the last 10 minutes. A stolen session guesses no faster than a sign-in does, and
 * each wrong password is a security event.
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
    if (ctx.now().getTime() - session.authenticatedAt.getTime() <= FRESH_MS) return;
    throw new AppError("reauthentication_required");
  }
  if (password === undefined) throw wrongPassword("required", "Is required");
  const attempt = await beginReauthentication(ctx, id);
  const isRight = await passwordMatches(ctx, password, passwordHash).catch(async (error: unknown) => {
    await withdrawAttempt(ctx, attempt);
    throw error;
  });
  if (isRight) return clearAttempt(ctx.db, attempt);
  await ctx.db.$transaction(async (tx) => {
    await recordFailure(tx, ctx.now(), attempt);
    await recordSecurityEvent(tx, ctx.now(), id, "sign_in_failed", caller);
  });
  throw wrongPassword("incorrect", "This is not your password");
}

function wrongPassword(code: string, detail: string): AppError {
  return new AppError("reauthentication_required", { errors: [{ pointer: "/password", code, detail }] });
}

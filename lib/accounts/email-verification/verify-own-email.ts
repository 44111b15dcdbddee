import { confirmVerification, verificationHashes } from "../../auth/email-verification";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Caller } from "../../principal";

type Deps = Pick<Context, "config" | "db" | "limits" | "now" | "removeDevices">;

/**
 * Verifies a signed-in account's email by an emailed token. The session proves that the account is the caller's, so no
 * password is needed, and nothing else changes.
 * @throws AppError invalid_or_expired_token if the token is invalid, used or expired; rate_limited
 */
export async function verifyOwnEmail(ctx: Deps, accountId: string, token: string, caller: Caller): Promise<void> {
  const tokenHash = { in: verificationHashes(ctx.config, token) };
  const found = await ctx.db.verificationToken.findFirst({
    where: { tokenHash, accountId },
    select: { tokenHash: true },
  });
  const email = found && (await confirmVerification(ctx, { tokenHash: found.tokenHash, isOwn: true }, caller));
  if (email) return;
  await ctx.limits.consume("verificationByIp", caller.ip);
  throw new AppError("invalid_or_expired_token");
}

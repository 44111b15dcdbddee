import { verifyPasskeyAssertion } from "../../auth/passkeys/verify-assertion";
import { requireEnabled } from "../../auth/require-enabled";
import { issueSession } from "../../auth/sessions/issue-session";
import type { Transport } from "../../auth/sessions/sessions";
import { requireVerifiedEmail } from "../../auth/verification/email-verification";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Caller } from "../../principal";
import { type PasskeyLogin, toUser } from "../schema";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "limits" | "emails" | "now" | "removeDevices">;

/**
 * Signs in with a passkey, which says whose account it is. The passkey verifies its user, so it is two factors: the
 * sign-in needs no other. The route has counted the attempt, which is returned after a success.
 * @throws AppError passkey_invalid, account_disabled, email_not_verified; invalid_credentials if the account was deleted, or
 *   its password reset, since
 */
export async function signInWithPasskey(
  ctx: Deps,
  { passkey, deviceName }: Pick<PasskeyLogin, "passkey" | "deviceName">,
  transport: Transport,
  caller: Caller,
) {
  const { accountId, amr } = await verifyPasskeyAssertion(ctx, passkey, { purpose: "sign-in" }, caller);
  await ctx.limits.refund("passkeyByIp", caller.ip);
  const account = await ctx.db.account.findUnique({ where: { id: accountId } });
  if (!account) throw new AppError("invalid_credentials");
  requireEnabled(account);
  await requireVerifiedEmail(ctx, account, caller);
  const options = { transport, deviceName: deviceName ?? null, authentication: { aal: 2, amr } } as const;
  const { session, token } = await issueSession(ctx, account, options, caller);
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}

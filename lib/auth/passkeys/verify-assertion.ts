import type { Context } from "../../context";
import { isAppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Passkey } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import type { Amr } from "../sessions/authentication";
import {
  checkAuthenticatorData,
  consumePasskeyChallenge,
  isUserVerified,
  type PasskeyPurpose,
  type PasskeyReason,
  passkeyInvalid,
  passkeyOrigins,
  readChallenge,
  relyingPartyId,
  userHandleOf,
} from "./ceremony";
import type { PasskeyAssertion } from "./schema";

type Deps = Pick<Context, "config" | "db" | "now">;

type Purpose = Exclude<PasskeyPurpose, "registration" | "invitation">;

/** The passkey, the account that it authenticates, and how (RFC 8176). */
export type VerifiedPasskey = { passkeyId: string; accountId: string; amr: Amr[] };

/**
 * Verifies the assertion of a passkey (Web Authentication Level 3, section 7.2), and records its use. Without
 * `accountId`, the passkey says whose account it is. The user has to be verified, except for a second factor. An
 * assertion of a known passkey that fails is in the account's audit trail.
 * @throws AppError passkey_invalid
 */
export async function verifyPasskeyAssertion(
  ctx: Deps,
  given: PasskeyAssertion,
  { accountId, purpose }: { accountId?: string; purpose: Purpose },
  caller: Pick<Caller, "ip" | "userAgent">,
): Promise<VerifiedPasskey> {
  const challenge = readChallenge(ctx, given.response.clientDataJSON, "webauthn.get");
  await consumePasskeyChallenge(ctx, challenge, { purpose, accountId: accountId ?? null });
  const passkey = await ctx.db.passkey.findUnique({ where: { credentialId: given.id } });
  if (!passkey || (accountId ?? passkey.accountId) !== passkey.accountId) throw passkeyInvalid("credential_unknown");
  try {
    checkUserHandle(given, passkey, purpose);
    const amr = await verify(ctx, given, passkey, { challenge, purpose });
    return { passkeyId: passkey.id, accountId: passkey.accountId, amr };
  } catch (error) {
    if (isAppError(error)) await recordRefusal(ctx, passkey, error.extras.fields?.reason as PasskeyReason, caller);
    throw error;
  }
}

/** A sign-in names its account by the user handle; elsewhere the client may leave it out (section 7.2, step 6). */
function checkUserHandle({ response }: PasskeyAssertion, { accountId }: Passkey, purpose: Purpose): void {
  if (response.userHandle ? response.userHandle === userHandleOf(accountId) : purpose !== "sign-in") return;
  throw passkeyInvalid("user_handle_mismatch");
}

async function verify(
  ctx: Deps,
  given: PasskeyAssertion,
  passkey: Passkey,
  { challenge, purpose }: { challenge: string; purpose: Purpose },
): Promise<Amr[]> {
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const { id, rawId, type, response } = given;
  const { clientDataJSON, authenticatorData, signature } = response;
  const authData = Buffer.from(authenticatorData, "base64url");
  const requireUserVerification = purpose !== "second-factor";
  checkAuthenticatorData(ctx, authData, { requireUserVerification });
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: {
      id,
      rawId,
      type,
      response: { clientDataJSON, authenticatorData, signature },
      clientExtensionResults: {},
    },
    expectedChallenge: challenge,
    expectedOrigin: passkeyOrigins(ctx.config),
    expectedRPID: relyingPartyId(ctx.config),
    requireUserVerification,
    // `recordUse` compares the counter, in the statement that stores it.
    credential: { id: passkey.credentialId, publicKey: passkey.publicKey, counter: 0 },
  }).catch((error: unknown) => {
    throw passkeyInvalid("malformed", error);
  });
  if (!verified) throw passkeyInvalid("signature_invalid");
  const { newCounter, credentialDeviceType, credentialBackedUp } = authenticationInfo;
  if ((credentialDeviceType === "multiDevice") !== passkey.isBackupEligible)
    throw passkeyInvalid("backup_eligibility_changed");
  await recordUse(ctx, passkey, { counter: BigInt(newCounter), isBackedUp: credentialBackedUp });
  return amrOf(passkey, isUserVerified(authData));
}

/** Synced passkeys have no counter: it stays 0. Any other one must rise with each use (section 6.1.1). */
async function recordUse(
  { db, now }: Deps,
  { id }: Passkey,
  { counter, isBackedUp }: Pick<Passkey, "counter" | "isBackedUp">,
): Promise<void> {
  const isHigher = { counter: { lt: counter } };
  const where = { id, OR: counter === 0n ? [{ counter }] : [isHigher] };
  const { count } = await db.passkey.updateMany({ where, data: { counter, isBackedUp, lastUsedAt: now() } });
  if (count > 0) return;
  const isRemoved = (await db.passkey.findUnique({ where: { id }, select: { id: true } })) === null;
  throw passkeyInvalid(isRemoved ? "credential_unknown" : "counter_replayed");
}

/** A passkey that can be synced counts as one in software: without an attestation, nobody vouches for hardware. */
function amrOf({ isBackupEligible }: Passkey, hasVerifiedUser: boolean): Amr[] {
  const possession: Amr = isBackupEligible ? "swk" : "hwk";
  return hasVerifiedUser ? [possession, "user", "mfa"] : [possession];
}

async function recordRefusal(
  { db, now }: Deps,
  { id, accountId, name }: Passkey,
  reason: PasskeyReason,
  caller: Pick<Caller, "ip" | "userAgent">,
): Promise<void> {
  const type = reason === "counter_replayed" ? "passkey_copied" : "passkey_refused";
  await recordSecurityEvent(db, now(), accountId, type, caller, { details: { passkeyId: id, name, reason } });
}

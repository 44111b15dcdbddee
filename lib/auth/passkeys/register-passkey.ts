import { createPublicKey } from "node:crypto";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Caller, Principal } from "../../principal";
import { lockOwnAccount } from "../account-checks";
import { clientName } from "../sessions/client-name";
import {
  checkAuthenticatorData,
  consumePasskeyChallenge,
  isConditional,
  passkeyInvalid,
  passkeyOrigins,
  type RegistrationPurpose,
  readChallenge,
  registrationPurpose,
  relyingPartyId,
} from "./ceremony";
import { ALGORITHMS } from "./options";
import type { Passkey, PasskeyRegistration, RegisterPasskey } from "./schema";
import { toPasskey } from "./stored-passkeys";

type Deps = Pick<Context, "config" | "db" | "emails" | "now">;

const MAX_PASSKEYS = 20;

/**
 * Adds a passkey to the caller's account (Web Authentication Level 3, section 7.1). The challenge, which only a step-up
 * yields, proves that there was one. The owner gets an email.
 * @throws AppError passkey_invalid; passkey_registered if an account has this passkey; passkey_limit_reached;
 *   unauthenticated if the session ended meanwhile
 */
export async function registerPasskey(
  ctx: Deps,
  principal: Principal,
  { passkey: given, name, conditional }: RegisterPasskey,
  caller: Caller,
): Promise<Passkey> {
  const { id } = principal.account;
  const credential = await verifyNewPasskey(ctx, given, { purpose: registrationPurpose(conditional), accountId: id });
  const row = await ctx.db.$transaction(async (tx) => {
    const email = await lockOwnAccount(tx, principal);
    return addPasskey(ctx, tx, { id, email }, { credential, name }, caller);
  });
  ctx.emails.wake();
  return toPasskey(row);
}

type NewPasskey = { credential: Awaited<ReturnType<typeof verifyRegistration>>; name: string | undefined };

/** Verifies a new passkey by the challenge that was issued for it, which it uses up. @throws AppError passkey_invalid */
export async function verifyNewPasskey(
  ctx: Deps,
  given: PasskeyRegistration,
  binding: { purpose: RegistrationPurpose; accountId: string },
): Promise<NewPasskey["credential"]> {
  const challenge = readChallenge(ctx, given.response.clientDataJSON, "webauthn.create");
  await consumePasskeyChallenge(ctx, challenge, binding);
  return verifyRegistration(ctx, given, challenge, !isConditional(binding.purpose));
}

/**
 * Adds a verified passkey to a locked account, whose invitation ends. The owner gets an email.
 * @throws AppError passkey_registered, passkey_limit_reached
 */
export async function addPasskey(
  ctx: Pick<Deps, "emails" | "now">,
  tx: Tx,
  { id: accountId, email }: { id: string; email: string },
  { credential, name: given }: NewPasskey,
  caller: Caller,
) {
  const [name, createdAt] = [given ?? clientName(null, caller.userAgent), ctx.now()];
  if ((await tx.passkey.count({ where: { accountId } })) >= MAX_PASSKEYS) throw new AppError("passkey_limit_reached");
  const data = [{ ...credential, accountId, name, createdAt }];
  const [created] = await tx.passkey.createManyAndReturn({ data, skipDuplicates: true });
  if (!created) throw new AppError("passkey_registered");
  await tx.invitation.deleteMany({ where: { accountId } });
  await recordSecurityEvent(tx, createdAt, accountId, "passkey_added", caller, { details: { name } });
  await ctx.emails.enqueue(tx, "factor_added", email, { factor: "passkey" });
  return created;
}

/**
 * The library is loaded at the first use, because few starts need it at once. Without a gesture, nobody is present or
 * verified: each sign-in with the passkey verifies its user.
 */
async function verifyRegistration(
  ctx: Deps,
  given: PasskeyRegistration,
  expectedChallenge: string,
  hasGesture: boolean,
) {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const attestation = await withoutStatement(given.response.attestationObject);
  checkAuthenticatorData(ctx, attestation.authData, { requireUserVerification: hasGesture });
  const { id, rawId, type } = given;
  const { clientDataJSON, transports } = given.response;
  const response = { clientDataJSON, attestationObject: attestation.encoded, transports: [] };
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: { id, rawId, type, response, clientExtensionResults: {} },
    expectedChallenge,
    expectedOrigin: passkeyOrigins(ctx.config),
    expectedRPID: relyingPartyId(ctx.config),
    requireUserPresence: hasGesture,
    requireUserVerification: hasGesture,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((error: unknown) => {
    throw passkeyInvalid("malformed", error);
  });
  if (!verified) throw passkeyInvalid("malformed");
  const { credential, aaguid, credentialDeviceType, credentialBackedUp } = registrationInfo;
  if (credential.id !== id) throw passkeyInvalid("malformed");
  await requireValidKey(credential.publicKey);
  return {
    credentialId: credential.id,
    publicKey: credential.publicKey,
    counter: BigInt(credential.counter),
    transports,
    aaguid,
    isBackupEligible: credentialDeviceType === "multiDevice",
    isBackedUp: credentialBackedUp,
  };
}

/**
 * Refuses what the library would store, and refuse at each sign-in: a point that is not on P-256, a key of another type
 * than its algorithm's, and an RSA key that proves nothing. @throws AppError passkey_invalid
 */
async function requireValidKey(publicKey: Uint8Array<ArrayBuffer>): Promise<void> {
  const { cose, decodeCredentialPublicKey, isoBase64URL } = await import("@simplewebauthn/server/helpers");
  try {
    const key = decodeCredentialPublicKey(publicKey) as { get: (label: number) => unknown };
    const text = (label: number) => isoBase64URL.fromBuffer(key.get(label) as Uint8Array<ArrayBuffer>);
    const { kty, alg, crv, x, y, n, e } = cose.COSEKEYS;
    const isElliptic = key.get(alg) === cose.COSEALG.ES256;
    const type = isElliptic ? cose.COSEKTY.EC2 : cose.COSEKTY.RSA;
    if (key.get(kty) !== type || (isElliptic && key.get(crv) !== cose.COSECRV.P256)) throw new Error("the wrong type");
    const jwk = isElliptic
      ? { kty: "EC", crv: "P-256", x: text(x), y: text(y) }
      : { kty: "RSA", n: text(n), e: text(e) };
    const { modulusLength, publicExponent } = createPublicKey({ key: jwk, format: "jwk" }).asymmetricKeyDetails ?? {};
    if (!isElliptic && !isUsableRsa(modulusLength, publicExponent)) throw new Error("an RSA key that is not usable");
  } catch (error) {
    throw passkeyInvalid("malformed", error);
  }
}

/** FIPS 186-5, section 5.1: the exponent is odd and above 2^16. Authenticators make keys of 2,048 to 4,096 bits. */
function isUsableRsa(modulusBits = 0, exponent = 0n): boolean {
  return (
    modulusBits >= 2_048 && modulusBits <= 4_096 && exponent > 65_536n && exponent < 2n ** 32n && exponent % 2n === 1n
  );
}

type CborValue = string | Uint8Array | Map<string, string>;

/**
 * An attestation object without its statement, as if the client had followed `attestation: "none"`. Some do not, and to
 * verify a statement the library would fetch revocation lists from URLs that the caller chooses.
 */
async function withoutStatement(encoded: string): Promise<{ authData: Uint8Array; encoded: string }> {
  const { isoBase64URL, isoCBOR } = await import("@simplewebauthn/server/helpers");
  try {
    const object = isoCBOR.decodeFirst<Map<unknown, unknown>>(isoBase64URL.toBuffer(encoded));
    const authData = object.get("authData");
    if (!(authData instanceof Uint8Array)) throw new Error("authData is missing");
    const bare = isoCBOR.encode(
      new Map<string, CborValue>([
        ["fmt", "none"],
        ["attStmt", new Map()],
        ["authData", authData],
      ]),
    );
    return { authData, encoded: isoBase64URL.fromBuffer(bare) };
  } catch (error) {
    throw passkeyInvalid("malformed", error);
  }
}

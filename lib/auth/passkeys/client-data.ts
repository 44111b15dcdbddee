import { createHash } from "node:crypto";
import { z } from "zod";
import type { Context } from "../../context";
import { isStorableText } from "../../platform/storable-text";
import { passkeyInvalid } from "./errors";
import { passkeyOrigins, relyingPartyId } from "./relying-party";

type Deps = Pick<Context, "config">;

const ClientData = z.object({
  type: z.string(),
  challenge: z.string().refine(isStorableText),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
});

/** The authenticator data begins with the SHA-256 of the RP ID, the flags and the counter (section 6.1). */
const RP_ID_HASH_BYTES = 32;
const MIN_AUTHENTICATOR_DATA_BYTES = 37;
const USER_VERIFIED = 0x04;

/**
 * Reads what the client signed (Web Authentication Level 3, section 5.8.1), and returns its challenge.
 * @throws AppError passkey_invalid if it is malformed, of the other type, or from an origin that is not ours
 */
export function readChallenge(
  { config }: Deps,
  clientDataJson: string,
  type: "webauthn.create" | "webauthn.get",
): string {
  const given = parseClientData(clientDataJson);
  if (given.type !== type) throw passkeyInvalid("type_mismatch");
  // None of our pages is in another site's frame.
  if (given.crossOrigin || !passkeyOrigins(config).includes(given.origin)) throw passkeyInvalid("origin_not_allowed");
  return given.challenge;
}

function parseClientData(encoded: string): z.infer<typeof ClientData> {
  try {
    return ClientData.parse(JSON.parse(Buffer.from(encoded, "base64url").toString()));
  } catch (error) {
    throw passkeyInvalid("malformed", error);
  }
}

/**
 * Checks what the authenticator signed, as far as the library has no error of its own for it.
 * @throws AppError passkey_invalid if it is malformed, for another RP ID, or without a user verification that is required
 */
export function checkAuthenticatorData(
  { config }: Deps,
  authData: Uint8Array,
  { requireUserVerification }: { requireUserVerification: boolean },
): void {
  if (authData.length < MIN_AUTHENTICATOR_DATA_BYTES) throw passkeyInvalid("malformed");
  const rpIdHash = createHash("sha256").update(relyingPartyId(config)).digest();
  if (rpIdHash.compare(authData.subarray(0, RP_ID_HASH_BYTES)) !== 0) throw passkeyInvalid("rp_id_mismatch");
  if (requireUserVerification && !isUserVerified(authData)) throw passkeyInvalid("user_not_verified");
}

/** Whether the authenticator verified the user, by biometrics, a PIN or a pattern. */
export function isUserVerified(authData: Uint8Array): boolean {
  return ((authData[RP_ID_HASH_BYTES] ?? 0) & USER_VERIFIED) !== 0;
}

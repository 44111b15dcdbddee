import { createHash, verify, type X509Certificate } from "node:crypto";
import { z } from "zod";
import { readAttestedData, readAuthenticatorData } from "./authenticator-data";
import { decodeCbor } from "./cbor";
import { nonceOf, verifyChain } from "./certificates";
import { type EvidenceReason, evidenceInvalid } from "./errors";
import { keyFromPoint, keyIdOf, publicPointOf } from "./p256";

const Bytes = z.instanceof(Uint8Array);
const Attestation = z.object({
  fmt: z.literal("apple-appattest"),
  attStmt: z.object({ x5c: z.tuple([Bytes, Bytes]), receipt: Bytes }),
  authData: Bytes,
});
const Assertion = z.object({ signature: Bytes, authenticatorData: Bytes });

/** All 16 bytes are compared: the first nine are the same in both environments. */
const AAGUIDS = {
  production: Buffer.from("appattest\0\0\0\0\0\0\0"),
  sandbox: Buffer.from("appattestdevelop"),
} as const;

type Common = {
  clientDataHash: Uint8Array;
  /** The team ID and the bundle ID, separated by a dot. */
  appId: string;
};

/**
 * Verifies that a genuine copy of the app created a key on an Apple device, for this client data, and returns the key's
 * point. Every step of Apple, "Validating apps that connect to your server", "Verify the attestation". Ignores the
 * receipt, which is for later requests to Apple.
 * @throws AppError evidence_invalid, with the reason of the step
 */
export function verifyAttestation(
  attestation: Uint8Array,
  given: Common & { keyId: Uint8Array; environment: keyof typeof AAGUIDS; root: X509Certificate; now: Date },
): Buffer {
  const { attStmt, authData } = decodeCbor(Attestation, attestation);
  const certificate = verifyChain(attStmt.x5c, given.root, given.now);
  requireEqual(nonceOf(certificate), sha256(authData, given.clientDataHash), "nonce_mismatch");
  const point = publicPointOf(certificate.publicKey);
  if (!point) throw evidenceInvalid("malformed");
  requireEqual(keyIdOf(point), given.keyId, "key_id_mismatch");
  const { rpIdHash, counter, aaguid, credentialId } = readAttestedData(authData);
  requireEqual(rpIdHash, sha256(given.appId), "app_id_mismatch");
  if (counter !== 0) throw evidenceInvalid("counter_not_zero");
  requireEqual(aaguid, AAGUIDS[given.environment], "environment_mismatch");
  requireEqual(credentialId, given.keyId, "credential_id_mismatch");
  return point;
}

/**
 * Verifies that an attested key signed this client data, and returns the assertion's counter (Apple, "Validating apps
 * that connect to your server", "Verify the assertion").
 * @throws AppError evidence_invalid, with the reason of the step
 */
export function verifyAssertion(
  assertion: Uint8Array,
  given: Common & { publicKey: Uint8Array; counter: bigint },
): bigint {
  const { signature, authenticatorData } = decodeCbor(Assertion, assertion);
  const key = keyFromPoint(given.publicKey);
  // The signature is over the SHA-256 of the nonce, which is a hash itself.
  const nonce = sha256(authenticatorData, given.clientDataHash);
  if (!key || !verify("sha256", nonce, key, signature)) throw evidenceInvalid("signature_invalid");
  const { rpIdHash, counter } = readAuthenticatorData(authenticatorData);
  requireEqual(rpIdHash, sha256(given.appId), "app_id_mismatch");
  if (BigInt(counter) <= given.counter) throw evidenceInvalid("counter_replayed");
  return BigInt(counter);
}

/** A comparison in constant time is unnecessary: none of these values is secret. */
function requireEqual(actual: Uint8Array, expected: Uint8Array, reason: EvidenceReason): void {
  if (Buffer.compare(actual, expected) !== 0) throw evidenceInvalid(reason);
}

function sha256(...parts: (Uint8Array | string)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

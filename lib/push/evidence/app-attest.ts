import { createHash, verify, X509Certificate } from "node:crypto";
import { AsnConvert, AsnProp, AsnSequenceType, OctetString } from "@peculiar/asn1-schema";
import { Certificate } from "@peculiar/asn1-x509";
import { type DecodeOptions, decode, Tokenizer } from "cborg";
import { z } from "zod";
import { type EvidenceReason, evidenceInvalid } from "./errors";
import { keyFromPoint, keyIdOf, publicPointOf } from "./p256";

const NONCE_EXTENSION = "1.2.840.113635.100.8.2";
const KEY_POLICY_EXTENSION = "1.2.840.113635.100.8.6";
const PLATFORM_EXTENSION = "1.2.840.113635.100.8.7";

/** The value of the nonce's extension: SEQUENCE { [1] EXPLICIT OCTET STRING }. */
class NonceValue {
  nonce = new OctetString();
}
// As functions: as decorators they are the experimental ones.
AsnSequenceType({})(NonceValue);
AsnProp({ type: OctetString, context: 1 })(NonceValue.prototype, "nonce");

/**
 * Verifies a chain of leaf, intermediate and root at `now`, and returns the leaf, the certificate of the attested key
 * (RFC 5280, section 6.1, as far as a chain of this shape needs it).
 * @throws AppError evidence_invalid: malformed, certificate_untrusted, certificate_expired
 */
function verifyChain(
  [leafDer, intermediateDer]: readonly [Uint8Array, Uint8Array],
  root: X509Certificate,
  now: Date,
): X509Certificate {
  const [leaf, intermediate] = [parseCertificate(leafDer), parseCertificate(intermediateDer)];
  const isTrusted = isIssuedBy(leaf, intermediate) && isIssuedBy(intermediate, root);
  if (!isTrusted) throw evidenceInvalid("certificate_untrusted");
  for (const { validFrom, validTo } of [leaf, intermediate, root]) {
    const isValid = Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo);
    if (!isValid) throw evidenceInvalid("certificate_expired");
  }
  return leaf;
}

/**
 * Returns the value of an extension of a certificate; undefined if it has none.
 * @throws AppError evidence_invalid: malformed, if it has several
 */
function extensionOf(certificate: X509Certificate, id: string): Buffer | undefined {
  const { extensions = [] } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate;
  const [extension, ...more] = extensions.filter(({ extnID }) => extnID === id);
  if (more.length > 0) throw evidenceInvalid("malformed");
  return extension && Buffer.from(extension.extnValue.buffer);
}

/**
 * Returns the nonce in the certificate of an attested key.
 * @throws AppError evidence_invalid: malformed, unless the certificate has exactly one such extension, in DER
 */
function nonceOf(certificate: X509Certificate): Uint8Array {
  try {
    const extension = extensionOf(certificate, NONCE_EXTENSION);
    if (!extension) throw new RangeError("expected exactly one nonce");
    const value = AsnConvert.parse(extension, NonceValue);
    // The parser also accepts BER, and ignores trailing bytes. DER has one encoding of each value.
    const der = Buffer.from(AsnConvert.serialize(value));
    if (!der.equals(extension)) throw new RangeError("expected DER");
    return new Uint8Array(value.nonce.buffer);
  } catch {
    throw evidenceInvalid("malformed");
  }
}

/** The end of the extension that names the platform, on a Mac: an OCTET STRING. */
const MAC = Buffer.concat([Buffer.of(4, 6), Buffer.from("macosx")]);
/**
 * The policy of a key that signs only with full security and system integrity protection ("Validating apps that connect to your
 * server"), as the certificate has it: SEQUENCE { [3] EXPLICIT OCTET STRING }.
 */
const MAC_KEY_POLICY = Buffer.concat([
  Buffer.of(0x30, 0x46, 0xa3, 0x44, 0x04, 0x42),
  Buffer.from("MEAMAjExMDowCQwCb2uhAwEB/zAJDAJvYaEDAQH/MAsMBG9kZWyhAwEB/zAVDARvc2duoAYMBHJzZWMwBaYDAgEB", "base64"),
]);

/** Whether a certificate is of a Mac that the key can be used on without its protections. */
function isOfUnprotectedMac(certificate: X509Certificate): boolean {
  const isOfMac = extensionOf(certificate, PLATFORM_EXTENSION)?.subarray(-MAC.length).equals(MAC) ?? false;
  return isOfMac && !extensionOf(certificate, KEY_POLICY_EXTENSION)?.equals(MAC_KEY_POLICY);
}

/** Parses DER without trailing bytes. Node would also accept PEM, and ignore trailing bytes. */
function parseCertificate(der: Uint8Array): X509Certificate {
  try {
    const certificate = new X509Certificate(der);
    if (certificate.raw.equals(der)) return certificate;
  } catch {
    // not a certificate
  }
  throw evidenceInvalid("malformed");
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false; // a key type that Node does not support
  }
}

/** An attestation has 13 data items, an assertion 5. */
const MAX_ITEMS = 32;

const STRICT: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  allowBigInt: false,
  rejectDuplicateMapKeys: true,
};

/** Rejects input with many items, which would exhaust the stack or take long to decode. */
class BoundedTokenizer extends Tokenizer {
  #items = 0;

  override next() {
    this.#items += 1;
    if (this.#items > MAX_ITEMS) throw new RangeError("too many items");
    return super.next();
  }
}

/** Decodes one CBOR item (RFC 8949) and validates it by a schema. @throws AppError evidence_invalid: malformed */
function decodeCbor<T>(schema: z.ZodType<T>, bytes: Uint8Array): T {
  try {
    return schema.parse(decode(bytes, { ...STRICT, tokenizer: new BoundedTokenizer(bytes, STRICT) }));
  } catch {
    throw evidenceInvalid("malformed");
  }
}

/** Offsets of WebAuthn's authenticator data (Web Authentication, section 6.1). */
const COUNTER_AT = 33;
const AAGUID_AT = 37;
const CREDENTIAL_ID_LENGTH_AT = 53;
const CREDENTIAL_ID_AT = 55;

/** Reads an assertion's authenticator data; extensions may follow. @throws AppError evidence_invalid: malformed */
function readAuthenticatorData(bytes: Buffer) {
  if (bytes.length < AAGUID_AT) throw evidenceInvalid("malformed");
  return { rpIdHash: bytes.subarray(0, 32), counter: bytes.readUInt32BE(COUNTER_AT) };
}

/** Reads an attestation's authenticator data, with the attested credential. @throws AppError evidence_invalid: malformed */
function readAttestedData(bytes: Buffer) {
  if (bytes.length < CREDENTIAL_ID_AT) throw evidenceInvalid("malformed");
  const end = CREDENTIAL_ID_AT + bytes.readUInt16BE(CREDENTIAL_ID_LENGTH_AT);
  if (bytes.length < end) throw evidenceInvalid("malformed");
  return {
    ...readAuthenticatorData(bytes),
    aaguid: bytes.subarray(AAGUID_AT, CREDENTIAL_ID_LENGTH_AT),
    credentialId: bytes.subarray(CREDENTIAL_ID_AT, end),
  };
}

const Bytes = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes));
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

/** `appId`: the team ID and the bundle ID, separated by a dot. */
type Common = { clientDataHash: Uint8Array; appId: string };

type AttestationContext = Common & {
  keyId: Uint8Array;
  environment: keyof typeof AAGUIDS;
  root: X509Certificate;
  allowsUnprotectedMacs: boolean;
  now: Date;
};

/**
 * Verifies that a genuine copy of the app created a key on an Apple device, for this client data, and returns the key's
 * point. Every step of Apple, "Validating apps that connect to your server", "Verify the attestation". Returns the receipt,
 * which is for later requests to Apple, as it is.
 * @throws AppError evidence_invalid, with the reason of the step
 */
export function verifyAttestation(attestation: Uint8Array, given: AttestationContext) {
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
  if (!given.allowsUnprotectedMacs && isOfUnprotectedMac(certificate)) throw evidenceInvalid("mac_unprotected");
  return { point, receipt: attStmt.receipt };
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

import { X509Certificate } from "node:crypto";
import { AsnConvert, AsnProp, AsnSequenceType, OctetString } from "@peculiar/asn1-schema";
import { Certificate } from "@peculiar/asn1-x509";
import { evidenceInvalid } from "./errors";

const NONCE_EXTENSION = "1.2.840.113635.100.8.2";

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
export function verifyChain(
  [leafDer, intermediateDer]: readonly [Uint8Array, Uint8Array],
  root: X509Certificate,
  now: Date,
): X509Certificate {
  const [leaf, intermediate] = [parseCertificate(leafDer), parseCertificate(intermediateDer)];
  const isTrusted = isIssuedBy(leaf, intermediate) && isIssuedBy(intermediate, root);
  if (!isTrusted) throw evidenceInvalid("certificate_untrusted");
  for (const certificate of [leaf, intermediate, root]) {
    if (!isValidAt(certificate, now)) throw evidenceInvalid("certificate_expired");
  }
  return leaf;
}

/**
 * Returns the nonce in the certificate of an attested key.
 * @throws AppError evidence_invalid: malformed, unless the certificate has exactly one such extension, in DER
 */
export function nonceOf(certificate: X509Certificate): Uint8Array {
  try {
    const { extensions = [] } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate;
    const [extension, ...more] = extensions.filter(({ extnID }) => extnID === NONCE_EXTENSION);
    if (!extension || more.length > 0) throw new RangeError("expected exactly one nonce");
    const value = AsnConvert.parse(extension.extnValue.buffer, NonceValue);
    // The parser also accepts BER, and ignores trailing bytes. DER has one encoding of each value.
    const der = Buffer.from(AsnConvert.serialize(value));
    if (!der.equals(Buffer.from(extension.extnValue.buffer))) throw new RangeError("expected DER");
    return new Uint8Array(value.nonce.buffer);
  } catch {
    throw evidenceInvalid("malformed");
  }
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

function isValidAt({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  return Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo);
}

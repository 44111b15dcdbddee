import { X509Certificate } from "node:crypto";
import { DER, derContent, derElements } from "./der";
import { evidenceInvalid } from "./errors";

/** The content octets of the OBJECT IDENTIFIER 1.2.840.113635.100.8.2. */
const NONCE_EXTENSION = Buffer.from("2a864886f763640802", "hex");
const EXTENSIONS = DER.context(3);
const NONCE = DER.context(1);

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
 * Returns the nonce in the certificate of an attested key: SEQUENCE { [1] { OCTET STRING } }.
 * @throws AppError evidence_invalid: malformed, unless the certificate has exactly one such extension
 */
export function nonceOf(certificate: X509Certificate): Uint8Array {
  try {
    const [tbsCertificate] = derElements(derContent(certificate.raw, DER.sequence));
    const fields = derElements(tbsCertificate?.content ?? new Uint8Array());
    const extensions = fields.find(({ tag }) => tag === EXTENSIONS)?.content ?? new Uint8Array();
    const values = derElements(derContent(extensions, DER.sequence))
      .map(({ content }) => derElements(content)) // extnID, critical (optional), extnValue
      .filter(([id]) => id?.tag === DER.objectIdentifier && NONCE_EXTENSION.equals(id.content))
      .map((parts) => parts.at(-1));
    const [value] = values;
    if (values.length !== 1 || value?.tag !== DER.octetString) throw new RangeError("expected exactly one nonce");
    return derContent(derContent(derContent(value.content, DER.sequence), NONCE), DER.octetString);
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

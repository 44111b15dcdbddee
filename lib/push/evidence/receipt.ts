import { X509Certificate } from "node:crypto";
import { ContentInfo, SignedData } from "@peculiar/asn1-cms";
import {
  AsnArray,
  AsnConvert,
  AsnProp,
  AsnPropTypes,
  AsnSequenceType,
  AsnType,
  AsnTypeTypes,
  OctetString,
} from "@peculiar/asn1-schema";
import { OctetString as ConstructedString, fromBER } from "asn1js";
import { z } from "zod";
import { publicPointOf } from "./p256";

/** SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }. */
class Attribute {
  type = 0;
  version = 0;
  value = new OctetString();
}
// As functions: as decorators they are the experimental ones.
AsnSequenceType({})(Attribute);
AsnProp({ type: AsnPropTypes.Integer })(Attribute.prototype, "type");
AsnProp({ type: AsnPropTypes.Integer })(Attribute.prototype, "version");
AsnProp({ type: OctetString })(Attribute.prototype, "value");

class Attributes extends AsnArray<Attribute> {}
AsnType({ type: AsnTypeTypes.Set, itemType: Attribute })(Attributes);

/** The types of a receipt's attributes ("Assessing fraud risk"). */
const FIELDS = { appId: 2, certificate: 3, riskMetric: 17, notBefore: 19 } as const;
const Count = z.coerce.number().int().min(0).max(1_000_000);

/** What a receipt of Apple says. `publicKey`: of the attested key. `notBefore`: when Apple gives the next one. */
export type Receipt = { appId: string; publicKey: Buffer; riskMetric: number | null; notBefore: Date | null };

/** Joins the parts of a constructed string, which Apple sends (X.690, section 8.7). @throws Error for anything else */
function contentOf(ber: ArrayBuffer): ArrayBuffer {
  const { result } = fromBER(ber);
  if (!(result instanceof ConstructedString)) throw new RangeError("expected an OCTET STRING");
  return result.getValue();
}

/**
 * Reads a receipt that Apple has sent: PKCS #7 signed data, whose signature is not verified. Returns null if it is none. The first
 * receipt, in an attestation, has no risk metric.
 */
export function readReceipt(receipt: Uint8Array): Receipt | null {
  try {
    const { content } = AsnConvert.parse(receipt, ContentInfo);
    const { eContent } = AsnConvert.parse(content, SignedData).encapContentInfo;
    const octets = eContent?.any ? contentOf(eContent.any) : (eContent?.single?.buffer ?? new ArrayBuffer(0));
    const attributes = AsnConvert.parse(octets, Attributes);
    const bytesOf = (name: keyof typeof FIELDS) => {
      const found = attributes.find(({ type }) => type === FIELDS[name]);
      return Buffer.from(found?.value.buffer ?? new ArrayBuffer(0));
    };
    const textOf = (name: keyof typeof FIELDS) => bytesOf(name).toString();
    const publicKey = publicPointOf(new X509Certificate(bytesOf("certificate")).publicKey);
    const notBefore = new Date(textOf("notBefore"));
    return (
      publicKey && {
        appId: textOf("appId"),
        publicKey,
        riskMetric: textOf("riskMetric") === "" ? null : Count.parse(textOf("riskMetric")),
        notBefore: Number.isNaN(notBefore.getTime()) ? null : notBefore,
      }
    );
  } catch {
    return null;
  }
}

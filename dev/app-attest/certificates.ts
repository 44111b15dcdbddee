import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { der, octets, oid, sequence } from "./der";

export type KeyPair = { publicKey: KeyObject; privateKey: KeyObject };
/** A certificate with its private key, which can sign other certificates. */
export type Issuer = KeyPair & { name: string; der: Buffer };

type CertificateOptions = {
  name: string;
  keys?: KeyPair;
  isAuthority?: boolean;
  validFrom?: Date;
  validTo?: Date;
  /** Additional extensions, DER-encoded. */
  extensions?: Buffer[];
};

const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

export const newKeys = (namedCurve = "P-256"): KeyPair => generateKeyPairSync("ec", { namedCurve });

/** Issues an X.509 certificate (RFC 5280, section 4.1), signed by `issuer` or, without one, by its own key. */
export function issue(options: CertificateOptions, issuer?: Issuer): Issuer {
  const { name, keys = newKeys(), isAuthority = false, extensions = [] } = options;
  const { validFrom = new Date(Date.now() - YEAR_MS), validTo = new Date(Date.now() + YEAR_MS) } = options;
  const constraints = extension("2.5.29.19", sequence(...(isAuthority ? [der(0x01, Buffer.of(0xff))] : [])));
  const tbsCertificate = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    sequence(utcTime(validFrom), utcTime(validTo)),
    nameOf(name),
    keys.publicKey.export({ format: "der", type: "spki" }),
    der(0xa3, sequence(constraints, ...extensions)),
  );
  const signature = sign("sha256", tbsCertificate, issuer?.privateKey ?? keys.privateKey);
  const certificate = sequence(tbsCertificate, ECDSA_WITH_SHA256, der(0x03, Buffer.of(0), signature));
  return { ...keys, name, der: certificate };
}

export const extension = (id: string, value: Uint8Array) => sequence(oid(id), octets(value));

export const pemOf = ({ der: bytes }: Issuer): string => new X509Certificate(bytes).toString();

const nameOf = (commonName: string) => sequence(der(0x31, sequence(oid("2.5.4.3"), der(0x0c, commonName))));

const utcTime = (at: Date) => der(0x17, `${at.toISOString().replace(/\D/g, "").slice(2, 14)}Z`);

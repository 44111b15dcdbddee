import { createHash, sign } from "node:crypto";
import { encode } from "cborg";
import { keyIdOf, publicPointOf } from "@/lib/push/evidence/p256";
import { extension, type Issuer, issue, type KeyPair, newKeys, pemOf } from "./certificates";
import { der, octets, oid, sequence } from "./der";

export const TEAM_ID = "TEAM123456";
export const NONCE_EXTENSION = "1.2.840.113635.100.8.2";
const KEY_POLICY_EXTENSION = "1.2.840.113635.100.8.6";
const PLATFORM_EXTENSION = "1.2.840.113635.100.8.7";
export const AAGUIDS = { production: Buffer.from("appattest\0\0\0\0\0\0\0"), sandbox: Buffer.from("appattestdevelop") };

/** A fake of Apple's certification authority: a root, and the intermediate that issues the certificates of keys. */
export type Authority = { root: Issuer; intermediate: Issuer; rootPem: string };

export function newAuthority(): Authority {
  const root = issue({ name: "Test App Attestation Root CA", keys: newKeys("P-384"), isAuthority: true });
  const intermediate = issue({ name: "Test App Attestation CA 1", keys: newKeys("P-384"), isAuthority: true }, root);
  return { root, intermediate, rootPem: pemOf(root) };
}

/** The authority that the service trusts in tests. */
export const authority = newAuthority();

/** A key as DCAppAttestService.generateKey creates it. */
export type AttestKey = KeyPair & { point: Buffer; keyId: Buffer };

export function newAttestKey(): AttestKey {
  const keys = newKeys();
  const point = publicPointOf(keys.publicKey) ?? Buffer.alloc(0);
  return { ...keys, point, keyId: keyIdOf(point) };
}

export type AttestationParts = {
  key: AttestKey;
  clientDataHash: Uint8Array;
  appId: string;
  environment: keyof typeof AAGUIDS;
};

/** Parts of an attestation that differ from a genuine one. */
export type Forgery = {
  issuedBy?: Authority;
  counter?: number;
  aaguid?: Uint8Array;
  credentialId?: Uint8Array;
  /** Replaces the certificate's nonce extension. */
  extensions?: Buffer[];
  /** Extensions beside the nonce's. */
  more?: Buffer[];
  receipt?: Uint8Array;
  certified?: KeyPair;
  validFrom?: Date;
  validTo?: Date;
  fmt?: string;
  x5c?: (leaf: Buffer, intermediate: Buffer) => unknown;
};

/** An attestation as DCAppAttestService.attestKey returns it. */
export function mintAttestation(parts: AttestationParts, forgery: Forgery = {}): Buffer {
  const { issuedBy = authority, fmt = "apple-appattest", certified = parts.key } = forgery;
  const authData = attestedDataOf(parts, forgery);
  const nonce = sha256(authData, parts.clientDataHash);
  const { more = [], extensions = [nonceExtension(nonce), ...more], validFrom, validTo } = forgery;
  const { receipt = Buffer.from("receipt") } = forgery;
  const leaf = issue({ name: "Attested key", keys: certified, extensions, validFrom, validTo }, issuedBy.intermediate);
  const x5c = forgery.x5c ?? ((one, two) => [one, two]);
  return toCbor({ fmt, attStmt: { x5c: x5c(leaf.der, issuedBy.intermediate.der), receipt }, authData });
}

/** A receipt as Apple sends it: signed data, whose content is a string of parts, of indefinite length. */
export function receiptOf(
  { key, appId }: Pick<AttestationParts, "key" | "appId">,
  { riskMetric, notBefore }: { riskMetric?: number; notBefore?: Date } = {},
): Buffer {
  const certificate = issue({ name: "Attested key", keys: key }, authority.intermediate).der;
  const integer = (value: number) => der(0x02, Buffer.of(value));
  const attribute = (type: number, value: string | Uint8Array) =>
    sequence(integer(type), integer(1), octets(Buffer.from(value as Uint8Array)));
  const attributes = [
    attribute(2, appId),
    attribute(3, certificate),
    attribute(6, riskMetric === undefined ? "ATTEST" : "RECEIPT"),
    ...(riskMetric === undefined ? [] : [attribute(17, String(riskMetric))]),
    ...(notBefore ? [attribute(19, notBefore.toISOString())] : []),
  ];
  const payload = der(0x31, ...attributes);
  const parts = [octets(payload.subarray(0, 100)), octets(payload.subarray(100))];
  const content = Buffer.concat([Buffer.of(0x24, 0x80), ...parts, Buffer.of(0, 0)]);
  const data = sequence(oid("1.2.840.113549.1.7.1"), der(0xa0, content));
  const signed = sequence(integer(1), der(0x31), data, der(0x31));
  return sequence(oid("1.2.840.113549.1.7.2"), der(0xa0, signed));
}

/** An assertion as DCAppAttestService.generateAssertion returns it. */
export function mintAssertion(
  { key, clientDataHash, appId }: Omit<AttestationParts, "environment">,
  counter: number,
  extensions: Uint8Array = Buffer.alloc(0),
): Buffer {
  const authenticatorData = Buffer.concat([sha256(appId), Buffer.of(0x40), uint32(counter), extensions]);
  const signature = sign("sha256", sha256(authenticatorData, clientDataHash), key.privateKey);
  return toCbor({ signature, authenticatorData });
}

export const nonceExtension = (nonce: Uint8Array) => extension(NONCE_EXTENSION, sequence(der(0xa1, octets(nonce))));

/** The extensions of a certificate from macOS 27. `requirement`: under which condition the key signs. */
export const macExtensions = (requirement: "rsec" | "none" | null = "rsec") => [
  extension(PLATFORM_EXTENSION, sequence(der(0xbf, octets(Buffer.from("27.0"))), octets(Buffer.from("macosx")))),
  ...(requirement === null
    ? []
    : [extension(KEY_POLICY_EXTENSION, sequence(der(0xa3, octets(keyPolicy(requirement)))))]),
];

/** An access control list of the Secure Enclave: each operation, and whether it is allowed or under which condition. */
function keyPolicy(requirement: "rsec" | "none"): Buffer {
  const name = (text: string) => der(0x0c, text);
  const allowed = der(0xa1, der(0x01, Buffer.of(0xff)));
  const signing =
    requirement === "none"
      ? sequence(name("osgn"), allowed)
      : sequence(name("osgn"), der(0xa0, name("rsec")), sequence(der(0xa6, der(0x02, Buffer.of(1)))));
  const operations = ["ok", "oa", "odel"].map((operation) => sequence(name(operation), allowed));
  return sequence(name("11"), sequence(...operations, signing));
}

export const toCbor = (value: unknown): Buffer => Buffer.from(encode(value));

function attestedDataOf({ key, appId, environment }: AttestationParts, forgery: Forgery): Buffer {
  const { counter = 0, aaguid = AAGUIDS[environment], credentialId = key.keyId } = forgery;
  return Buffer.concat([
    sha256(appId),
    Buffer.of(0x40),
    uint32(counter),
    aaguid,
    Buffer.of(0, credentialId.length),
    credentialId,
    encode(coseKeyOf(key)),
  ]);
}

/** RFC 9053, section 7.1: EC2, ES256, P-256. */
function coseKeyOf({ point }: AttestKey): Map<number, unknown> {
  const coordinates = [point.subarray(1, 33), point.subarray(33)] as const;
  return new Map<number, unknown>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, coordinates[0]],
    [-3, coordinates[1]],
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function sha256(...parts: (Uint8Array | string)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

import { createHash, sign } from "node:crypto";
import { encode } from "cborg";
import { keyIdOf, publicPointOf } from "@/lib/push/evidence/p256";
import { extension, type Issuer, issue, type KeyPair, newKeys, pemOf } from "./certificates";
import { der, octets, sequence } from "./der";

export const TEAM_ID = "TEAM123456";
export const NONCE_EXTENSION = "1.2.840.113635.100.8.2";
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
  const { extensions = [nonceExtension(nonce)], validFrom, validTo } = forgery;
  const leaf = issue({ name: "Attested key", keys: certified, extensions, validFrom, validTo }, issuedBy.intermediate);
  const x5c = forgery.x5c ?? ((one, two) => [one, two]);
  return toCbor({
    fmt,
    attStmt: { x5c: x5c(leaf.der, issuedBy.intermediate.der), receipt: Buffer.from("receipt") },
    authData,
  });
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

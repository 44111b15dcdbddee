import { createHash, createPublicKey, type KeyObject } from "node:crypto";

const POINT_BYTES = 65;
const UNCOMPRESSED = 4;

/** Returns the uncompressed point (ANSI X9.63) of a P-256 key; null for any other key. */
export function publicPointOf(key: KeyObject): Buffer | null {
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") return null;
  const { x = "", y = "" } = key.export({ format: "jwk" });
  return Buffer.concat([Buffer.of(UNCOMPRESSED), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
}

/** Returns the P-256 key of an uncompressed point; null if the point is invalid. */
export function keyFromPoint(point: Uint8Array): KeyObject | null {
  if (point.length !== POINT_BYTES || point[0] !== UNCOMPRESSED) return null;
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => Buffer.from(part).toString("base64url"));
  try {
    return createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } });
  } catch {
    return null; // not on the curve
  }
}

/** Returns App Attest's key ID: the SHA-256 of the uncompressed point. */
export function keyIdOf(point: Uint8Array): Buffer {
  return createHash("sha256").update(point).digest();
}

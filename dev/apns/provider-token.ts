import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http2";
import { type Rejection, reject } from "./rejection";

const TOKEN_LIFETIME_SECONDS = 60 * 60;
const SKEW_SECONDS = 5 * 60;

/** The public key that verifies provider tokens, in PEM, and the key and team that they have to name. */
export type ProviderKey = { publicKey: string; keyId: string; teamId: string };

/** Verifies a provider token's signature once (RFC 7518, section 3.4, ES256), and its age with every request. */
export function createTokenVerifier({ publicKey, keyId, teamId }: ProviderKey) {
  const key = createPublicKey(publicKey);
  const known = new Map<string, number | null>();
  return ({ authorization = "" }: IncomingHttpHeaders): Rejection | null => {
    const [, token] = /^bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return reject(403, "MissingProviderToken");
    const issuedAt = known.has(token) ? known.get(token) : issuedAtOf(token, key, keyId, teamId);
    known.set(token, issuedAt ?? null);
    if (typeof issuedAt !== "number") return reject(403, "InvalidProviderToken");
    const ageSeconds = Date.now() / 1000 - issuedAt;
    if (ageSeconds < -SKEW_SECONDS) return reject(403, "InvalidProviderToken");
    return ageSeconds > TOKEN_LIFETIME_SECONDS ? reject(403, "ExpiredProviderToken") : null;
  };
}

/** Returns when a token was issued, in seconds since 1970; null if the token is not valid for this key and team. */
function issuedAtOf(token: string, key: KeyObject, keyId: string, teamId: string): number | null {
  try {
    const [head = "", claims = "", signature = "", ...rest] = token.split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    const { alg, kid } = read(head);
    const { iss, iat } = read(claims);
    const signed = { key, dsaEncoding: "ieee-p1363" as const };
    const isOurs = alg === "ES256" && kid === keyId && iss === teamId && rest.length === 0;
    const isSigned = verify("sha256", Buffer.from(`${head}.${claims}`), signed, Buffer.from(signature, "base64url"));
    return isOurs && isSigned && Number.isInteger(iat) ? iat : null;
  } catch {
    return null;
  }
}

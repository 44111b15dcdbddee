import { createPublicKey, type KeyObject } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http2";
import { jwtVerify } from "jose";
import { type Rejection, reject } from "./validation";

const TOKEN_LIFETIME_SECONDS = 60 * 60;
const SKEW_SECONDS = 5 * 60;

/** The public key that verifies provider tokens, in PEM, and the key and team that they have to name. */
export type ProviderKey = { publicKey: string; keyId: string; teamId: string };

/** Verifies a provider token's signature once (RFC 7518, section 3.4, ES256), and its age with every request. */
export function createTokenVerifier({ publicKey, keyId, teamId }: ProviderKey) {
  const key = createPublicKey(publicKey);
  const known = new Map<string, Promise<number | null>>();
  return async ({ authorization = "" }: IncomingHttpHeaders): Promise<Rejection | null> => {
    const [, token] = /^bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return reject(403, "MissingProviderToken");
    const verified = known.get(token) ?? issuedAtOf(token, key, keyId, teamId);
    known.set(token, verified);
    const issuedAt = await verified;
    if (issuedAt === null) return reject(403, "InvalidProviderToken");
    const ageSeconds = Date.now() / 1000 - issuedAt;
    if (ageSeconds < -SKEW_SECONDS) return reject(403, "InvalidProviderToken");
    return ageSeconds > TOKEN_LIFETIME_SECONDS ? reject(403, "ExpiredProviderToken") : null;
  };
}

/** Returns when a token was issued, in seconds since 1970; null if the token is not valid for this key and team. */
async function issuedAtOf(token: string, key: KeyObject, keyId: string, issuer: string): Promise<number | null> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, key, { issuer, algorithms: ["ES256"] });
    return protectedHeader.kid === keyId ? (payload.iat ?? null) : null;
  } catch {
    return null;
  }
}

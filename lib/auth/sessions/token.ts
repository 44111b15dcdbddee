import { isUuid } from "../../db/ids";
import { decryptToken, encryptToken } from "../keys/encrypted-token";
import type { Secrets } from "../keys/ring";

/** The claims of a session token: account id, session id, and the account's epoch when the token was issued. */
export type Claims = { sub: string; sid: string; epoch: number };

const PURPOSE = "";

/** Encodes a session token. next-auth's own function derives the key for each call, which takes four times as long. */
export function encodeToken(claims: Claims, secrets: Secrets, ttlSeconds: number): Promise<string> {
  return encryptToken(secrets, claims, { purpose: PURPOSE, ttlSeconds });
}

/** Decodes a session token; null if it is invalid or expired. */
export async function decodeToken(token: string, secrets: Secrets): Promise<Claims | null> {
  const { sub, sid, epoch } = ((await decryptToken(secrets, token, PURPOSE)) ?? {}) as Partial<Claims>;
  if (typeof sub !== "string" || typeof sid !== "string" || typeof epoch !== "number") return null;
  return isUuid(sub) && isUuid(sid) ? { sub, sid, epoch } : null;
}

import type { Context } from "../../context";
import { linkingSessionCookieName, setCookie } from "../../platform/http/cookies/cookies";
import { readEncryptedCookie, setEncryptedCookie } from "../../platform/http/cookies/encrypted-cookie";

type Config = Context["config"];

/** The lifetime of next-auth's cookies for state, PKCE and nonce, which belong to the same sign-in. */
const TTL_SECONDS = 15 * 60;

/**
 * The Set-Cookie header that stores the session that starts a sign-in at a provider; without one it removes the cookie.
 * It is encrypted, so only this service decides to which account an identity is linked.
 */
export async function setLinkingSessionCookie(
  config: Config,
  now: Date,
  sessionId: string | undefined,
): Promise<string> {
  const name = linkingSessionCookieName(config);
  if (!sessionId) return setCookie(config, name, null, now);
  return setEncryptedCookie(config, now, { name, claims: { sid: sessionId }, ttlSeconds: TTL_SECONDS });
}

/** The id of the session that started this sign-in at a provider; undefined if there was none. */
export async function readLinkingSessionCookie(
  config: Config,
  cookieHeader: string | null,
): Promise<string | undefined> {
  const claims = await readEncryptedCookie(config, cookieHeader, linkingSessionCookieName(config));
  return typeof claims?.sid === "string" ? claims.sid : undefined;
}

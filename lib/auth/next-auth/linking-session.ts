import type { Context } from "../../context";
import { linkingSessionCookieName, parseCookies, setCookie } from "../cookie";
import { decryptToken, encryptToken } from "../keys/encrypted-token";

type Config = Context["config"];

/** The lifetime of next-auth's cookies for state, PKCE and nonce, which belong to the same sign-in. */
const TTL_SECONDS = 15 * 60;

/**
 * The Set-Cookie header that stores the session that starts a sign-in at a provider; without one it removes the cookie.
 * It is encrypted, so only this service decides to which account an identity is linked.
 */
export async function rememberLinkingSession(
  config: Config,
  now: Date,
  sessionId: string | undefined,
): Promise<string> {
  const name = linkingSessionCookieName(config);
  const expiresAt = new Date(now.getTime() + TTL_SECONDS * 1000);
  const token = { sid: sessionId };
  const value = sessionId && (await encryptToken(config.secrets, token, { purpose: name, ttlSeconds: TTL_SECONDS }));
  return setCookie(config, name, value ?? null, expiresAt);
}

/** The id of the session that started this sign-in at a provider; undefined if there was none. */
export async function recallLinkingSession(config: Config, cookieHeader: string | null): Promise<string | undefined> {
  const name = linkingSessionCookieName(config);
  const value = parseCookies(cookieHeader)[name];
  if (!value) return undefined;
  const claims = await decryptToken(config.secrets, value, name);
  return typeof claims?.sid === "string" ? claims.sid : undefined;
}

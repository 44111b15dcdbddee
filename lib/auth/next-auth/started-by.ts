import { decode, encode } from "next-auth/jwt";
import type { Context } from "../../context";
import { parseCookies, setCookie, startedByCookieName } from "../cookie";

type Config = Context["config"];

/** As long as next-auth's cookies for state, PKCE and nonce, beside which this one stands. */
const TTL_SECONDS = 15 * 60;

/**
 * The Set-Cookie header that remembers the session with which a way to a provider begins, or that there was none.
 * Encrypted, so that nobody but this service says whose account an identity is added to.
 */
export async function rememberStart(config: Config, now: Date, sessionId: string | undefined): Promise<string> {
  const name = startedByCookieName(config);
  const expiresAt = new Date(now.getTime() + TTL_SECONDS * 1000);
  const token = { sid: sessionId };
  const value = sessionId && (await encode({ token, secret: config.secret, salt: name, maxAge: TTL_SECONDS }));
  return setCookie(config, name, value ?? null, expiresAt);
}

/** The id of the session that began the way back from which the browser comes; undefined where there was none. */
export async function recallStart(config: Config, cookieHeader: string | null): Promise<string | undefined> {
  const name = startedByCookieName(config);
  const value = parseCookies(cookieHeader)[name];
  if (!value) return undefined;
  const claims = await decode({ token: value, secret: config.secret, salt: name }).catch(() => null);
  return typeof claims?.sid === "string" ? claims.sid : undefined;
}

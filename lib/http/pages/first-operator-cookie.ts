import { z } from "zod";
import { firstOperatorCookieName, setCookie } from "../../auth/cookie";
import { readEncryptedCookie, setEncryptedCookie } from "../../auth/keys/encrypted-cookie";
import type { Context } from "../../context";

type Config = Context["config"];
const Claims = z.object({ token: z.string() });

/** The Set-Cookie header that keeps a link's token while its owner registers or signs in. It is encrypted. */
export function setFirstOperatorLinkCookie(
  config: Config,
  now: Date,
  { token, ttlSeconds }: { token: string; ttlSeconds: number },
): Promise<string> {
  return setEncryptedCookie(config, now, { name: firstOperatorCookieName(config), claims: { token }, ttlSeconds });
}

/** The token of the link that this browser has opened; null if there is none. */
export async function readFirstOperatorLinkCookie(config: Config, cookieHeader: string | null): Promise<string | null> {
  const claims = await readEncryptedCookie(config, cookieHeader, firstOperatorCookieName(config));
  return Claims.safeParse(claims).data?.token ?? null;
}

/** The Set-Cookie header that removes the link's token. */
export function clearFirstOperatorLinkCookie(config: Config, now: Date): string {
  return setCookie(config, firstOperatorCookieName(config), null, now);
}

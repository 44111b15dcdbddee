import { z } from "zod";
import type { Context } from "../../../context";
import {
  emailChangeCookieName,
  firstOperatorCookieName,
  readEncryptedCookie,
  setCookie,
  setEncryptedCookie,
} from "../cookies";

type Config = Context["config"];
type Link = keyof typeof NAMES;

/** The links that have to be kept while who opened them signs in. */
const NAMES = { emailChange: emailChangeCookieName, firstOperator: firstOperatorCookieName };
const Claims = z.object({ token: z.string() });

/** The Set-Cookie header that keeps a link's token while its owner registers or signs in. It is encrypted. */
export function setLinkCookie(
  config: Config,
  now: Date,
  link: Link,
  { token, ttlSeconds }: { token: string; ttlSeconds: number },
): Promise<string> {
  return setEncryptedCookie(config, now, { name: NAMES[link](config), claims: { token }, ttlSeconds });
}

/** The token of the link that this browser has opened; null if there is none. */
export async function readLinkCookie(config: Config, link: Link, cookieHeader: string | null): Promise<string | null> {
  const claims = await readEncryptedCookie(config, cookieHeader, NAMES[link](config));
  return Claims.safeParse(claims).data?.token ?? null;
}

/** The Set-Cookie header that removes the link's token. */
export function clearLinkCookie(config: Config, now: Date, link: Link): string {
  return setCookie(config, NAMES[link](config), null, now);
}

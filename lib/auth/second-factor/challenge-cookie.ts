import {
  type CookieConfig,
  challengeCookieName,
  parseCookies,
  setCookie,
  setShortCookie,
} from "../../platform/http/cookies/cookies";
import type { ReadableHeaders } from "../../platform/http/readable-headers";
import { CHALLENGE_TTL_SECONDS, type SecondFactorChallenge } from "./challenges";

/** The path of the page that asks a browser for the second factor, and continues to `callbackUrl`. */
export function secondFactorPage(parameters: { callbackUrl?: string; error?: string }): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length > 0 ? `/sign-in/factor?${new URLSearchParams(given)}` : "/sign-in/factor";
}

/** The Set-Cookie header that carries a sign-in's challenge to that page. */
export function setChallengeCookie(
  config: CookieConfig,
  { challenge }: Pick<SecondFactorChallenge, "challenge">,
): string {
  return setShortCookie(config, challengeCookieName(config), challenge, CHALLENGE_TTL_SECONDS);
}

/** The Set-Cookie header that removes it. */
export function clearChallengeCookie(config: CookieConfig): string {
  return setCookie(config, challengeCookieName(config), null, new Date(0));
}

/** The challenge of a browser's sign-in; undefined if there is none. */
export function readChallengeCookie(config: CookieConfig, headers: ReadableHeaders): string | undefined {
  return parseCookies(headers.get("cookie"))[challengeCookieName(config)] || undefined;
}

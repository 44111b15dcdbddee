import type { NextAuthOptions } from "next-auth";
import { type CookieConfig, isSecure, parseCookies, sessionCookieOptions } from "../../platform/http/cookies/cookies";

type NextAuthCookies = Omit<NonNullable<NextAuthOptions["cookies"]>, "sessionToken">;

/** The lifetime of next-auth's cookies for state and PKCE. */
const SIGN_IN_TTL_SECONDS = 15 * 60;

/**
 * The cookies of next-auth besides the session's, with `__Host-` over https: otherwise another host of the domain could
 * set them, and finish its own sign-in in this browser. `cookieHeader` is that of a provider's callback.
 */
export function nextAuthCookies(config: CookieConfig, cookieHeader: string | null = null): NextAuthCookies {
  const isStartedByOldBuild = isSecure(config) && hasOnlyOldState(cookieHeader);
  const prefix = isStartedByOldBuild ? "__Secure-" : isSecure(config) ? "__Host-" : "";
  const cookie = (name: string, options = {}) => ({
    name: `${prefix}next-auth.${name}`,
    options: { ...sessionCookieOptions(config), ...options },
  });
  return {
    callbackUrl: cookie("callback-url"),
    csrfToken: cookie("csrf-token"),
    pkceCodeVerifier: cookie("pkce.code_verifier", { maxAge: SIGN_IN_TTL_SECONDS }),
    state: cookie("state", { maxAge: SIGN_IN_TTL_SECONDS }),
    nonce: cookie("nonce"),
  };
}

/**
 * Version 1.0.0 named these cookies `__Secure-`. A sign-in that it started before an upgrade is finished. The values are
 * encrypted for their name, for 15 minutes: once no instance has the old version, no old value is valid.
 */
function hasOnlyOldState(cookieHeader: string | null): boolean {
  const { "__Secure-next-auth.state": old, "__Host-next-auth.state": current } = parseCookies(cookieHeader);
  return old !== undefined && current === undefined;
}

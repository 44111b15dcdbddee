import type { Config } from "../../config";
import { parseCookies, returnCookieName, setShortCookie } from "../cookies";
import { trustedUrl } from "./redirect-paths";

/** As long as a person may look for the email. */
const TTL_SECONDS = 60 * 60;

type Deps = Pick<Config, "baseUrl" | "AUTH_TRUSTED_ORIGINS">;

/**
 * Keeps the page that a person came from until the emailed link is opened in this browser. A cookie: in the email it would
 * let anybody choose where our link leads. Without `page` it removes the cookie. Returns the Set-Cookie header.
 */
export function setReturnCookie(config: Deps, page: string | undefined): string {
  const value = page === undefined ? "" : Buffer.from(page).toString("base64url");
  return setShortCookie(config, returnCookieName(config), value, value === "" ? 0 : TTL_SECONDS);
}

/** The page to return to; undefined without the cookie. */
export function readReturnCookie(config: Deps, cookieHeader: string | null): string | undefined {
  const value = parseCookies(cookieHeader)[returnCookieName(config)];
  return value ? trustedUrl(Buffer.from(value, "base64url").toString(), config, "/account") : undefined;
}

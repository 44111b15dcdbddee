import type { Config } from "../config";

type HeaderConfig = Pick<Config, "baseUrl" | "HSTS_INCLUDE_SUBDOMAINS">;

/** For responses that are not pages: nothing in them is loaded, run or framed (Content Security Policy Level 3). */
const DOCUMENT_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const YEAR_SECONDS = 31_536_000;

/** The policy of a response that refreshes itself to another URL: a sandbox would prevent that. */
export const REFRESH_POLICY = { "Content-Security-Policy": DOCUMENT_POLICY };
/** For public files, which pages of any site may load. CORS decides who may read the others. */
export const LOADABLE_ANYWHERE = { "Cross-Origin-Resource-Policy": "cross-origin" };

/**
 * Removes from the browser what it has cached and stored of a session that ends (W3C Clear Site Data). Not "cookies": that
 * would remove the cookies of all hosts of the domain, and the device cookie, which protects the owner from a lockout.
 */
export const CLEAR_SITE_DATA = { "Clear-Site-Data": '"cache", "storage"' };

/**
 * The security headers of every response: a Content-Security-Policy, which pages replace with their own, nosniff,
 * Cross-Origin-Resource-Policy (WHATWG Fetch, 3.7), and HSTS on https (RFC 6797).
 */
export function securityHeaders(config: HeaderConfig): Readonly<Record<string, string>> {
  return {
    "Content-Security-Policy": `${DOCUMENT_POLICY}; sandbox`,
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    ...strictTransportSecurity(config),
  };
}

function strictTransportSecurity({ baseUrl, HSTS_INCLUDE_SUBDOMAINS }: HeaderConfig): Record<string, string> {
  if (!baseUrl.startsWith("https:")) return {};
  const subdomains = HSTS_INCLUDE_SUBDOMAINS ? "; includeSubDomains" : "";
  return { "Strict-Transport-Security": `max-age=${YEAR_SECONDS}${subdomains}` };
}

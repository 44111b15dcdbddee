import type { Config } from "../../config";
import { securityHeaders } from "../security-headers";

/** The header of a request in which proxy.ts passes to a page its own path and query. */
export const PAGE_URL_HEADER = "x-page-url";
/** The header of a request in which the HTTP server passes to a page the IP of the socket. */
export const SOCKET_IP_HEADER = "x-socket-ip";
const CSP_REPORTS_PATH = "/api/csp-reports";

/**
 * The headers of every page. Only scripts with this response's `nonce`, and scripts that those load, run (Content
 * Security Policy Level 3, section 8.2). Nothing is loaded from other origins, no other site can frame a page, and a
 * site that opens one gets no reference to its window. In development, React's tools need `eval`.
 */
export function pageHeaders(
  config: Pick<Config, "baseUrl" | "HSTS_INCLUDE_SUBDOMAINS">,
  nonce: string,
  isDevelopment: boolean,
): Record<string, string> & { "Content-Security-Policy": string } {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    `style-src 'self' ${isDevelopment ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "object-src 'none'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `report-uri ${CSP_REPORTS_PATH}`, // Firefox knows no other
    "report-to csp",
  ];
  return {
    ...securityHeaders(config),
    "Content-Security-Policy": policy.join("; "),
    "Reporting-Endpoints": `csp="${CSP_REPORTS_PATH}"`,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cache-Control": "private, no-store",
    // Which installer runs on the visitor's computer (W3C, User-Agent Client Hints).
    "Accept-CH": "Sec-CH-UA-Arch",
  };
}

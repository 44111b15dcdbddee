import type { Config } from "../../config";

const HSTS = "max-age=31536000";

/**
 * What every page carries beside its content. Scripts run by this answer's `nonce` alone, or where one of those
 * has fetched them (Content Security Policy Level 3, 8.2); nothing is loaded from elsewhere, and no other site
 * may frame a page. HSTS (RFC 6797) on https. `isDevelopment`: React's own tools evaluate text there.
 */
export function pageHeaders(
  { baseUrl }: Pick<Config, "baseUrl">,
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
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "Content-Security-Policy": policy.join("; "),
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
    ...(baseUrl.startsWith("https:") ? { "Strict-Transport-Security": HSTS } : {}),
  };
}

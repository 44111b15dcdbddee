import type { Config } from "../../config";

const HSTS = "max-age=31536000";

/**
 * The headers of every page. Only scripts with this response's `nonce`, and scripts that those load, run (Content
 * Security Policy Level 3, section 8.2). Nothing is loaded from other origins, and no other site can frame a page.
 * HSTS (RFC 6797) on https. In development, React's tools need `eval`.
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

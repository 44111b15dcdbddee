import { AppError } from "../../errors";
import type { Config } from "../config";
import type { RequestHead } from "../http-message";
import { DEPRECATION_HEADERS } from "./deprecation";

type OriginConfig = Pick<Config, "baseUrl" | "AUTH_TRUSTED_ORIGINS" | "CORS_ALLOWED_ORIGINS">;

/**
 * Protects requests that use or set the session cookie from cross-site request forgery. Accepts `Sec-Fetch-Site:
 * same-origin`, `same-site` from a trusted origin, and, without that header, our own or a trusted `Origin`.
 * @throws AppError origin_not_allowed
 */
export function requireOwnOrigin(headers: RequestHead["headers"], config: OriginConfig): void {
  const origin = headers.get("origin");
  const isTrusted = origin !== null && config.AUTH_TRUSTED_ORIGINS.includes(origin);
  const site = headers.get("sec-fetch-site");
  const isAllowed =
    site === null
      ? isTrusted || origin === new URL(config.baseUrl).origin
      : site === "same-origin" || (site === "same-site" && isTrusted);
  if (!isAllowed) throw new AppError("origin_not_allowed");
}

/**
 * The same for a request that a session cookie authenticates. A GET is checked only if it `hasSideEffect`.
 * @throws AppError origin_not_allowed
 */
export function requireOwnOriginForCookie(
  method: string,
  hasSideEffect: boolean | undefined,
  headers: RequestHead["headers"],
  config: OriginConfig,
): void {
  if (method !== "GET" && method !== "HEAD") requireOwnOrigin(headers, config);
  else if (hasSideEffect) requireOwnNavigation(headers, config);
}

/** What a person or a script of ours starts: not an image, a frame or a script that a page loads. */
const OWN_DESTINATIONS: readonly (string | null)[] = [null, "document", "empty"];

/**
 * Also accepts a URL that a person typed or bookmarked (`Sec-Fetch-Site: none`; W3C Fetch Metadata Request Headers,
 * section 2.3). Browsers send no Origin with a navigation: without Sec-Fetch-Site, the Referer must be ours.
 */
function requireOwnNavigation(headers: RequestHead["headers"], config: OriginConfig): void {
  if (!OWN_DESTINATIONS.includes(headers.get("sec-fetch-dest"))) throw new AppError("origin_not_allowed");
  const site = headers.get("sec-fetch-site");
  const referer = headers.get("referer") ?? "";
  const isOwnReferer = URL.canParse(referer) && new URL(referer).origin === new URL(config.baseUrl).origin;
  if (site === "none" || (site === null && isOwnReferer)) return;
  requireOwnOrigin(headers, config);
}

/** The response headers that scripts of other origins may read. */
const EXPOSED_HEADERS = [
  "X-Request-Id",
  "Retry-After",
  "RateLimit",
  "RateLimit-Policy",
  "ETag",
  "Content-Disposition",
  "Content-Range",
  "Idempotency-Replayed",
  ...DEPRECATION_HEADERS,
].join(", ");

const ALLOWED_HEADERS =
  "Authorization, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, If-Range, Range, X-Request-Id";

/** The CORS headers for an origin in `CORS_ALLOWED_ORIGINS` (WHATWG Fetch, section 3.3). */
export function corsHeaders(request: RequestHead, config: OriginConfig, allow: string): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null || !config.CORS_ALLOWED_ORIGINS.includes(origin)) return { Vary: "Origin" };
  const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
  return {
    Vary: "Origin",
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": EXPOSED_HEADERS,
    ...(isPreflight
      ? {
          "Access-Control-Allow-Methods": allow,
          "Access-Control-Allow-Headers": ALLOWED_HEADERS,
          "Access-Control-Max-Age": "600",
        }
      : {}),
  };
}

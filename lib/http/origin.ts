import type { Config } from "../config";
import { AppError } from "../errors";
import type { RequestHead } from "./route-request";

type EdgeConfig = Pick<Config, "baseUrl" | "AUTH_TRUSTED_ORIGINS" | "CORS_ALLOWED_ORIGINS">;

/**
 * The rule against cross-site request forgery for what works on the session cookie or sets it: the browser says
 * same-origin; or same-site, from an origin that is trusted, as another host of the same domain is; or says
 * nothing, and the Origin is ours or trusted. A cross-site page gets through by no list.
 * @throws AppError origin_not_allowed
 */
export function requireOwnOrigin(headers: RequestHead["headers"], config: EdgeConfig): void {
  const origin = headers.get("origin");
  const isTrusted = origin !== null && config.AUTH_TRUSTED_ORIGINS.includes(origin);
  const site = headers.get("sec-fetch-site");
  const allowed =
    site === null
      ? isTrusted || origin === new URL(config.baseUrl).origin
      : site === "same-origin" || (site === "same-site" && isTrusted);
  if (!allowed) throw new AppError("origin_not_allowed");
}

/**
 * Applies the rule to a request that a session cookie authenticates. A GET needs it only where it `hasEffect`.
 * @throws AppError origin_not_allowed
 */
export function requireOwnCaller(
  method: string,
  hasEffect: boolean | undefined,
  headers: RequestHead["headers"],
  config: EdgeConfig,
): void {
  if (method !== "GET" && method !== "HEAD") requireOwnOrigin(headers, config);
  else if (hasEffect) requireOwnNavigation(headers, config);
}

/**
 * The same rule for a GET with an effect. It also lets through what the person typed or opened from a bookmark
 * (`Sec-Fetch-Site: none`; W3C Fetch Metadata Request Headers, section 2.3). Browsers send no Origin with a navigation, so
 * without Sec-Fetch-Site the Referer has to be ours.
 * @throws AppError origin_not_allowed
 */
function requireOwnNavigation(headers: RequestHead["headers"], config: EdgeConfig): void {
  const site = headers.get("sec-fetch-site");
  const referer = headers.get("referer") ?? "";
  const isOwnReferer = URL.canParse(referer) && new URL(referer).origin === new URL(config.baseUrl).origin;
  if (site === "none" || (site === null && isOwnReferer)) return;
  requireOwnOrigin(headers, config);
}

/** CORS headers for an origin that `CORS_ALLOWED_ORIGINS` lists; none while it lists nothing. */
export function corsHeaders(request: RequestHead, config: EdgeConfig, allow: string): Record<string, string> {
  if (config.CORS_ALLOWED_ORIGINS.length === 0) return {};
  const origin = request.headers.get("origin");
  if (origin === null || !config.CORS_ALLOWED_ORIGINS.includes(origin)) return { Vary: "Origin" };
  const preflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
  return {
    Vary: "Origin",
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers":
      "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, ETag, Content-Disposition",
    ...(preflight
      ? {
          "Access-Control-Allow-Methods": allow,
          "Access-Control-Allow-Headers":
            "Authorization, Content-Type, If-Modified-Since, If-None-Match, If-Range, Range, X-Request-Id",
          "Access-Control-Max-Age": "600",
        }
      : {}),
  };
}

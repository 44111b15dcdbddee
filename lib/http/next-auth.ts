import { readCredentials } from "../auth/authenticate";
import type { NextAuthAnswer, NextAuthCall } from "../auth/next-auth/answer";
import type { Context } from "../context";
import { AppError } from "../errors";
import { parseJson } from "./input/body";
import { requireOwnOrigin } from "./origin";
import type { RequestHead } from "./route-request";
import { RouteResponse } from "./route-response";

/** Apple's answer is posted by a page of Apple's. It is sent on, and nothing else. */
const POSTED_BY_OTHERS = "callback/apple";

/**
 * Reads a request for next-auth. What changes something has to come from our own pages or bear a token, beside
 * next-auth's own token against request forgery.
 * @throws AppError origin_not_allowed, malformed_json, unsupported_media_type
 */
export function nextAuthCall(
  ctx: Pick<Context, "config">,
  request: RequestHead,
  segments: string[],
  raw: Uint8Array,
): Omit<NextAuthCall, "caller"> {
  const method = request.method === "POST" ? "POST" : "GET";
  const credentials = readCredentials(request.headers, ctx.config);
  const needsNoOrigin = credentials?.via === "bearer" || segments.join("/") === POSTED_BY_OTHERS;
  if (method === "POST" && !needsNoOrigin) requireOwnOrigin(request.headers, ctx.config);
  return {
    method,
    segments,
    query: Object.fromEntries(new URL(request.url, ctx.config.baseUrl).searchParams),
    // Beside an Authorization header no cookie counts, here as anywhere.
    credentials,
    cookieHeader: request.headers.has("authorization") ? null : request.headers.get("cookie"),
    body: method === "POST" && raw.byteLength > 0 ? parseForm(request.headers.get("content-type") ?? "", raw) : {},
  };
}

/**
 * next-auth's answer as a reply. It sets no cookie for what another site fetches, rather than sends its visitor to,
 * nor for whoever brought a token in a header.
 */
export function nextAuthResponse(
  { config }: Pick<Context, "config">,
  request: RequestHead,
  { status, headers, cookies, body }: NextAuthAnswer,
): RouteResponse {
  const isFetched = request.headers.get("sec-fetch-mode") !== "navigate";
  const isForeign = isFetched && request.headers.get("sec-fetch-site") === "cross-site";
  const all: RouteResponse["headers"] = { ...headers };
  // next-auth repeats what the caller wrote; a header takes ASCII alone.
  if (headers.Location) all.Location = new URL(headers.Location, config.baseUrl).href;
  if (body !== null) all["Content-Length"] = String(Buffer.byteLength(body));
  if (cookies.length > 0 && !isForeign && !request.headers.has("authorization")) all["Set-Cookie"] = cookies;
  return new RouteResponse(status, body, all);
}

/** next-auth's own pages post forms, next-auth/react posts forms or JSON. */
function parseForm(contentType: string, raw: Uint8Array): Record<string, unknown> {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/x-www-form-urlencoded") {
    return Object.fromEntries(new URLSearchParams(new TextDecoder().decode(raw)));
  }
  if (type !== "application/json") throw new AppError("unsupported_media_type");
  const parsed = parseJson(raw);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new AppError("validation_failed");
  return parsed as Record<string, unknown>;
}

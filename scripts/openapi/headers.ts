import type { ZodOpenApiHeaderObject, ZodOpenApiParameterObject } from "zod-openapi";

const header = (description: string, example: string) => ({
  description,
  schema: { type: "string" as const },
  example,
});
const seconds = (description: string, example: number) => ({
  description,
  schema: { type: "integer" as const },
  example,
});

/** Every header that an answer may carry and that is worth reading, by its name. */
export const HEADERS = {
  "X-Request-Id": header("Names the request in the service's log.", "3f0c8f5e-6f0a-4a55-9d5a-0b1d3f2e7c11"),
  "X-Content-Type-Options": header("Always `nosniff`.", "nosniff"),
  "Cache-Control": header("Who may keep the answer, and how long (RFC 9111).", "private, no-store"),
  ETag: header(
    "The strong validator of these bytes (RFC 9110, 8.8.3).",
    '"Yb0tGf3mN2p5Jv3sE1xGQm0kq2o7rX9uV4wZ8cD6aBc"',
  ),
  "Last-Modified": header(
    "When the file changed last. Not where it lies in an object storage.",
    "Tue, 03 Nov 2026 09:00:00 GMT",
  ),
  "Accept-Ranges": header("Always `bytes`.", "bytes"),
  "Content-Disposition": header("What the file is called (RFC 6266).", 'attachment; filename="core-1.2.0-x64.exe"'),
  "Content-Range": header(
    "Which bytes these are, or `bytes */SIZE` where none were (RFC 9110, 14.4).",
    "bytes 0-1023/734003200",
  ),
  "Repr-Digest": header(
    "The SHA-512 of the whole file (RFC 9530).",
    "sha-512=:z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==:",
  ),
  Location: header("Where to go on.", "https://downloads.example.com/core-1.2.0-x64.exe"),
  Link: header(
    "The route that took this one's place (RFC 8288, `successor-version`).",
    '<https://api.example.com/api/subscription/status>; rel="successor-version"',
  ),
  Allow: header("The methods that there are.", "GET, HEAD, OPTIONS"),
  Accept: header("What the body has to be.", "application/json"),
  "WWW-Authenticate": header("How to prove oneself (RFC 6750).", 'Bearer realm="homeport"'),
  "Set-Cookie": header(
    "The cookie that carries the session, or the one that takes it away.",
    "__Host-next-auth.session-token=eyJhbGciOiJkaXIi…; Path=/; Expires=Fri, 27 Nov 2026 09:00:00 GMT; HttpOnly; SameSite=Lax; Secure",
  ),
  "Retry-After": seconds("Seconds after which asking again makes sense. Left out where waiting does not help.", 30),
  "RateLimit-Policy": header(
    "The limit: so many uses (`q`) in so many seconds (`w`).",
    '"resetRequestByEmail";q=3;w=3600',
  ),
  RateLimit: header(
    "What is left of it (`r`), and the seconds until there is more (`t`).",
    '"resetRequestByEmail";r=0;t=1800',
  ),
} as const satisfies Record<string, ZodOpenApiHeaderObject>;
export type HeaderName = keyof typeof HEADERS;

const everywhere = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"] as const;

/** The headers of an answer: those that every answer carries, and those named. */
export function headersOf(names: readonly HeaderName[] = []) {
  return Object.fromEntries([...everywhere, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const sent = (name: string, description: string, example: string) => ({
  name,
  in: "header" as const,
  description,
  schema: { type: "string" as const },
  example,
});

/** The request's headers that routes read, beside Authorization and Cookie. */
export const PARAMETERS = {
  RequestId: {
    ...sent("X-Request-Id", "Comes back in the answer, and stands in the log.", "checkout-4711"),
    schema: { type: "string" as const, pattern: "^[A-Za-z0-9._-]{1,128}$" },
  },
  IfNoneMatch: sent("If-None-Match", "An ETag: 304 where nothing has changed since.", '"Yb0tGf3mN2p5Jv3s"'),
  IfModifiedSince: sent("If-Modified-Since", "304 where the file is no newer.", "Tue, 03 Nov 2026 09:00:00 GMT"),
  IfMatch: sent("If-Match", "An ETag: 412 where the file is another one by now.", '"sha256-9f86d081884c7d65"'),
  IfUnmodifiedSince: sent(
    "If-Unmodified-Since",
    "412 where the file has changed since.",
    "Tue, 03 Nov 2026 09:00:00 GMT",
  ),
  Range: sent("Range", "One range of bytes; of several, the whole is sent.", "bytes=1048576-"),
  IfRange: sent(
    "If-Range",
    "An ETag or a date: where the file is another one by now, the whole is sent.",
    '"sha256-9f86"',
  ),
  StagingId: {
    ...sent("X-User-Staging-Id", "The same as `clientId`, as electron-updater sends it.", "6fd1c9b2-staging"),
    schema: { type: "string" as const, maxLength: 128 },
  },
  WebhookId: sent("webhook-id", "Standard Webhooks: the event's id.", "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"),
  WebhookTimestamp: sent(
    "webhook-timestamp",
    "Standard Webhooks: Unix seconds, at most five minutes off.",
    "1795165200",
  ),
} as const satisfies Record<string, ZodOpenApiParameterObject>;
export type ParameterName = keyof typeof PARAMETERS;

/** A parameter, as operations point to it. */
export const parameter = (name: ParameterName) => ({ $ref: `#/components/parameters/${name}` });

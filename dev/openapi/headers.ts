import type { ZodOpenApiHeaderObject, ZodOpenApiParameterObject } from "zod-openapi";

const header = (description: string, example: string) => ({
  description,
  schema: { type: "string" as const },
  example,
});
const integer = (description: string, example: number) => ({
  description,
  schema: { type: "integer" as const },
  example,
});

/** The described response headers. */
export const HEADERS = {
  "X-Request-Id": header("Identifies the request in the service's log.", "3f0c8f5e-6f0a-4a55-9d5a-0b1d3f2e7c11"),
  "X-Content-Type-Options": header("Always `nosniff`.", "nosniff"),
  "Cache-Control": header("Who may cache the response, and for how long (RFC 9111).", "private, no-store"),
  ETag: header(
    "The validator of the response (RFC 9110, 8.8.3): a strong one of files and feeds, a weak one of a status.",
    '"Yb0tGf3mN2p5Jv3sE1xGQm0kq2o7rX9uV4wZ8cD6aBc"',
  ),
  "Last-Modified": header(
    "When the file was last modified. Absent for files in object storage.",
    "Tue, 03 Nov 2026 09:00:00 GMT",
  ),
  "Accept-Ranges": header("Always `bytes`.", "bytes"),
  "Content-Disposition": header("The file name (RFC 6266).", 'attachment; filename="core-1.2.0-x64.exe"'),
  "Content-Range": header(
    "The returned bytes, or `bytes */SIZE` if the range is outside the file (RFC 9110, section 14.4). Each part of a `multipart/byteranges` body has its own.",
    "bytes 0-1023/734003200",
  ),
  "Repr-Digest": header(
    "The SHA-512, or the SHA-256, of the whole file (RFC 9530).",
    "sha-512=:z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==:",
  ),
  Location: header(
    "The URL of the redirect, or of what was created.",
    "https://downloads.example.com/core-1.2.0-x64.exe",
  ),
  Deprecation: header("Since when this operation is deprecated, in Unix seconds (RFC 9745).", "@1795305600"),
  Sunset: header("From when it no longer works (RFC 8594).", "Mon, 22 Nov 2027 00:00:00 GMT"),
  Link: header(
    "The replacement of this operation (RFC 8288, `successor-version`).",
    '<https://api.example.com/api/subscription/status>; rel="successor-version"',
  ),
  Allow: header("The supported methods.", "GET, HEAD, OPTIONS"),
  Accept: header("The supported media types of the body.", "application/json"),
  "WWW-Authenticate": header("The authentication scheme (RFC 6750).", 'Bearer realm="homeport"'),
  "Idempotency-Replayed": header("`true` if this is the response to an earlier request.", "true"),
  "Upload-Offset": integer("How many bytes of the upload have arrived (tus 1.0).", 52428800),
  "Upload-Length": integer("The size of the whole file in bytes (tus 1.0).", 104857600),
  "Upload-Expires": header("When the upload is deleted (tus 1.0, expiration).", "Sat, 21 Nov 2026 09:00:00 GMT"),
  "Set-Cookie": header(
    "Sets or deletes the session cookie.",
    "__Host-next-auth.session-token=eyJhbGciOiJkaXIi…; Path=/; Expires=Fri, 27 Nov 2026 09:00:00 GMT; HttpOnly; SameSite=Lax; Secure",
  ),
  "Retry-After": integer("Seconds to wait before a retry. Absent if waiting does not help.", 30),
  "RateLimit-Policy": header("The limit: `q` requests in `w` seconds.", '"resetRequestByEmail";q=3;w=3600'),
  RateLimit: header(
    "The remaining requests (`r`), and the seconds until the limit resets (`t`).",
    '"resetRequestByEmail";r=0;t=1800',
  ),
} satisfies Record<string, ZodOpenApiHeaderObject>;

const everywhere = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"] as const;

/** The headers of a response: those of every response, and the named ones. */
export function headersOf(names: readonly string[] = []) {
  const unknown = names.filter((name) => !(name in HEADERS));
  if (unknown.length > 0) throw new Error(`No description of the headers ${unknown.join(", ")}`);
  return Object.fromEntries([...everywhere, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const sent = (name: string, description: string, example: string) => ({
  name,
  in: "header" as const,
  description,
  schema: { type: "string" as const },
  example,
});

/** The request headers that routes read, apart from Authorization and Cookie. */
export const PARAMETERS = {
  RequestId: {
    ...sent("X-Request-Id", "Returned in the response and written to the log.", "checkout-4711"),
    schema: { type: "string" as const, pattern: "^[A-Za-z0-9._-]{1,128}$" },
  },
  IfNoneMatch: sent("If-None-Match", "An ETag. The response is 304 if nothing has changed.", '"Yb0tGf3mN2p5Jv3s"'),
  IfModifiedSince: sent(
    "If-Modified-Since",
    "The response is 304 if the file is not newer.",
    "Tue, 03 Nov 2026 09:00:00 GMT",
  ),
  IfMatch: sent("If-Match", "An ETag. The response is 412 if the file has changed.", '"sha256-9f86d081884c7d65"'),
  IfMatchState: sent(
    "If-Match",
    "The ETag of what is changed, or of a preview of the change. The response is 412 if anything that it identifies has changed since.",
    '"Yb0tGf3mN2p5Jv3sE1xGQm0kq2o"',
  ),
  IfUnmodifiedSince: sent(
    "If-Unmodified-Since",
    "The response is 412 if the file has changed.",
    "Tue, 03 Nov 2026 09:00:00 GMT",
  ),
  Range: sent(
    "Range",
    "Up to 512 byte ranges. Several return `multipart/byteranges`, or the whole file if that is smaller.",
    "bytes=1048576-",
  ),
  IfRange: sent("If-Range", "An ETag or a date. If the file has changed, the whole file is returned.", '"sha256-9f86"'),
  StagingId: {
    ...sent("X-User-Staging-Id", "The same as `clientId`, as electron-updater sends it.", "6fd1c9b2-staging"),
    schema: { type: "string" as const, maxLength: 128 },
  },
  IdempotencyKey: {
    ...sent(
      "Idempotency-Key",
      "Any text that is new for each change, such as a UUID. A repetition within 24 hours changes nothing.",
      "b8f1c7de-3d3c-4a53-9a4e-6c1b8e0f2d55",
    ),
    schema: { type: "string" as const, pattern: "^[!-~]{1,255}$" },
  },
  TusResumable: { ...sent("Tus-Resumable", "The version of the protocol.", "1.0.0"), required: true },
  UploadLength: { ...sent("Upload-Length", "The size of the whole file in bytes.", "104857600"), required: true },
  UploadOffset: { ...sent("Upload-Offset", "How many bytes have arrived before.", "52428800"), required: true },
  UploadMetadata: sent(
    "Upload-Metadata",
    "`filename` and its value in Base64. Other pairs are kept and returned.",
    "filename QWNtZS0yLjMuMC14NjQuZXhl",
  ),
  WebhookId: sent("webhook-id", "Standard Webhooks: the event's ID.", "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"),
  WebhookTimestamp: sent(
    "webhook-timestamp",
    "Standard Webhooks: Unix seconds, at most five minutes off.",
    "1795165200",
  ),
  EventId: {
    ...sent(
      "webhook-id",
      "The event's id, the same in every delivery of it: ignore one that you have processed.",
      "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b12",
    ),
    required: true,
  },
  DeliveredAt: {
    ...sent("webhook-timestamp", "When it was sent, in Unix seconds: refuse one over five minutes off.", "1795165200"),
    required: true,
  },
  Signature: {
    ...sent(
      "webhook-signature",
      "`v1,` and the Base64 of the HMAC-SHA256 over `webhook-id.webhook-timestamp.body` by the endpoint's secret. For a day after a rotation there are two, separated by a space.",
      "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
    required: true,
  },
} satisfies Record<string, ZodOpenApiParameterObject>;

/** A reference to a parameter. @throws Error if it is not described */
export function parameter(name: string) {
  if (!(name in PARAMETERS)) throw new Error(`No description of the request header ${name}`);
  return { $ref: `#/components/parameters/${name}` };
}

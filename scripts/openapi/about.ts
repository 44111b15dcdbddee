import type { ZodOpenApiSecuritySchemeObject } from "zod-openapi";

/** The groups of operations, in the order in which they are read. */
export const TAGS = [
  ["Core", "Health, versions, update feeds and downloads."],
  ["Accounts", "Registering, signing in, resetting a password, deleting and exporting."],
  ["Sessions", "next-auth: sessions in browsers, and signing in with a provider."],
  ["Billing", "The subscription's status, and the billing provider's deliveries."],
  ["Push", "The iOS devices that get notifications."],
] as const;
export type Tag = (typeof TAGS)[number][0];

const DESCRIPTION = `Updates and downloads, accounts, billing and push for a software company's products.

**Bodies** are JSON in UTF-8, of at most 16 KiB unless a route says otherwise. Unknown members and unknown query parameters are ignored; a known parameter that comes twice is an error. Times are RFC 3339 in UTC.

**Who calls** is told by \`Authorization: Bearer\` with the token of a sign-in, or by the session cookie of a browser. Beside an Authorization header the cookie does not count. What changes something by cookie, or sets one, has to come from the service's own origin or a trusted one.

**Errors** are problem documents (RFC 9457). Switch on their \`code\`, which is stable; each is explained under [/docs/errors](/docs/errors). An unknown path answers 404 \`not_found\`; a method that a path does not have, 405 \`method_not_allowed\` with \`Allow\`.

**Limits** answer 429 \`rate_limited\` with \`Retry-After\`, \`RateLimit-Policy\` and \`RateLimit\`.

**Every answer** carries \`X-Request-Id\`, \`X-Content-Type-Options: nosniff\` and \`Cache-Control\`. HEAD works wherever GET does, OPTIONS everywhere. Origins in \`CORS_ALLOWED_ORIGINS\` get CORS headers, with credentials.`;

export const ABOUT = {
  info: {
    title: "Homeport",
    version: "1",
    description: DESCRIPTION,
    license: { name: "MIT", identifier: "MIT" },
    contact: { name: "Homeport" },
  },
  servers: [
    {
      url: "{origin}",
      description: "Where the service runs",
      variables: { origin: { default: "http://localhost:3000", description: "`NEXTAUTH_URL`" } },
    },
  ],
};

const header = (name: string, description: string) => ({
  type: "apiKey" as const,
  in: "header" as const,
  name,
  description,
});

export const SECURITY_SCHEMES: Record<string, ZodOpenApiSecuritySchemeObject> = {
  bearer: { type: "http", scheme: "bearer", description: "The token of a sign-in with `transport: token`." },
  cookie: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-next-auth.session-token",
    description: "A browser's session. On http it is called `next-auth.session-token`.",
  },
  revenueCatSignature: header(
    "X-RevenueCat-Webhook-Signature",
    "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<body>` with the webhook's signing secret, at most five minutes old.",
  ),
  standardWebhooksSignature: header(
    "webhook-signature",
    "`v1,<base64>`: HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>` (standardwebhooks.com), at most five minutes old.",
  ),
  webhookAuthorization: header("Authorization", "One of the values that the billing provider is told to send."),
};

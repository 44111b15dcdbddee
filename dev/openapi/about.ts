import type { ZodOpenApiSecuritySchemeObject } from "zod-openapi";

/** The groups of operations, in the order of the reference. */
export const TAGS = [
  ["Core", "Health, versions, update feeds and downloads."],
  ["Accounts", "Registration, sign-in, password reset, account deletion and data export."],
  ["Sessions", "next-auth: browser sessions, and sign-in with a provider."],
  ["OAuth", "Sign-in of native apps and of devices without a browser, with any OAuth client library."],
  ["Billing", "The subscription status, and the webhook of the billing provider."],
  ["Push", "The iOS devices and browsers that receive notifications."],
  ["Admin", "What operators do: with the session of an account that has a role, or with an API key."],
  ["Webhooks", "What your own endpoints receive from the service."],
] as const;
export type Tag = (typeof TAGS)[number][0];

const DESCRIPTION = `Updates and downloads, accounts, billing and push for a software company's products.

**Bodies** are JSON in UTF-8 and may be at most 16 KiB, unless an operation states another limit. Unknown fields and query parameters are ignored, except that the operations below /api/admin refuse unknown fields. A repeated query parameter is an error. Times are in UTC and formatted as in RFC 3339.

**Authentication** uses \`Authorization: Bearer\` with the token of a sign-in, or the session cookie of a browser. If a request has an Authorization header, its cookie is ignored. Operators' programs send an API key (\`hp_…\`) as the bearer token. An API key in any URL returns 400 \`key_in_url\` and is revoked. A request that changes data by cookie, or that sets a cookie, must come from the service's own origin or a trusted one.

**Errors** are problem documents (RFC 9457). Switch on \`code\`, which is stable. [/docs/errors](/docs/errors) explains every code. An unknown path returns 404 \`not_found\`. A method that a path does not support returns 405 \`method_not_allowed\` with \`Allow\`.

**Rate limits** return 429 \`rate_limited\` with \`Retry-After\`, \`RateLimit-Policy\` and \`RateLimit\`.

**Every response** has \`X-Request-Id\`, \`X-Content-Type-Options: nosniff\` and \`Cache-Control\`. Every GET operation also supports HEAD, and every path supports OPTIONS. Origins in \`CORS_ALLOWED_ORIGINS\` get CORS headers that allow credentials.`;

export const ABOUT = {
  info: {
    title: "Homeport",
    version: "1", // of the API: Homeport's own may be a secret
    description: DESCRIPTION,
    license: { name: "MIT", identifier: "MIT" },
    contact: { name: "Homeport" },
  },
  servers: [
    {
      url: "{origin}",
      description: "The service",
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
  apiKey: { type: "http", scheme: "bearer", description: "An API key with the operation's scope." },
  cookie: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-next-auth.session-token",
    description: "The session of a browser. On http, its name is `next-auth.session-token`.",
  },
  revenueCatSignature: header(
    "X-RevenueCat-Webhook-Signature",
    "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<body>` with the webhook's signing secret, at most five minutes old.",
  ),
  standardWebhooksSignature: header(
    "webhook-signature",
    "`v1,<base64>`: HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>` (standardwebhooks.com), at most five minutes old.",
  ),
  stripeSignature: header(
    "Stripe-Signature",
    "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<body>` with the endpoint's signing secret, at most five minutes old.",
  ),
  paddleSignature: header(
    "Paddle-Signature",
    "`ts=<unix seconds>;h1=<hex>`: HMAC-SHA256 over `<ts>:<body>` with the destination's secret key, at most five seconds old.",
  ),
  emailEventsPassword: {
    type: "http",
    scheme: "basic",
    description: "Any user, with a secret of `EMAIL_EVENTS_SECRET` as the password.",
  },
  svixSignature: header(
    "svix-signature",
    "`v1,<base64>`: HMAC-SHA256 over `<svix-id>.<svix-timestamp>.<body>` with the webhook's signing secret, at most five minutes old.",
  ),
  webhookAuthorization: header("Authorization", "One of the values that the billing provider is configured to send."),
};

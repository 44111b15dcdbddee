import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getEntitlementToken",
  description:
    "Returns a JWT that an app checks offline. Its header has `typ` `entitlements+jwt`. Its claims are `iss`, `sub` (the account), `aud`, `iat`, `exp`, with `jkt` also `cnf.jkt`, and `entitlements`: the active ones, each with `id`, `productId` and `expiresAt` in seconds since 1970, or null if it does not expire. One that will renew has `BILLING_TOKEN_GRACE_SECONDS` more.",
  responses: {
    200: {
      description: "The token, and when it expires.",
      examples: {
        "A token": {
          token:
            "eyJhbGciOiJFZERTQSIsInR5cCI6ImVudGl0bGVtZW50cytqd3QifQ.eyJhdWQiOiJjb20uZXhhbXBsZS5jb3JlIn0.c2lnbmF0dXJl",
          expiresAt: "2026-11-28T08:00:00.000Z",
        },
      },
    },
  },
};

import type { OperationDetails } from "@/scripts/openapi/operation";

const KEY = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  name: "Release pipeline",
  prefix: "hp_4fKq",
  status: "active",
  scopes: ["releases:write"],
  networks: ["203.0.113.0/24"],
  createdAt: "2026-11-20T09:00:00.000Z",
  expiresAt: "2027-02-18T09:00:00.000Z",
  lastUsedAt: null,
  revokedAt: null,
};

export const GET: OperationDetails = {
  operationId: "listApiKeys",
  description: "Lists keys, newest first, including those that no longer work. API keys cannot manage API keys.",
  responses: {
    200: { description: "A page of keys.", examples: { "One key": { keys: [KEY], nextCursor: null } } },
  },
};

export const POST: OperationDetails = {
  operationId: "createApiKey",
  description:
    "Creates a key and returns it. It is not shown again. A key is `hp_` and 49 letters and digits, of which the last 6 are a checksum. With `Idempotency-Key`, a repeated request returns 409 `idempotency_key_used` instead of the key, which is stored as a hash only: revoke it and create another one.",
  requests: {
    "A key for releases": {
      name: "Release pipeline",
      scopes: ["releases:write"],
      expiresAt: "2027-02-18T09:00:00Z",
      networks: ["203.0.113.0/24"],
    },
  },
  responses: {
    201: {
      description: "The key was created.",
      examples: { "The key": { ...KEY, key: "hp_4fKqZ1mW8sT0bR7yLx2Vd9NcG5hJ3uPaE6oQiYtBkSwDz0A1b2C3" } },
    },
  },
};

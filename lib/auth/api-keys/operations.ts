import { z } from "zod";
import { operation } from "../../operation";
import { Scope } from "../../principal";
import { createKey, listKeys, revokeKey } from "./keys";
import { ApiKeys, CreatedKey, KeyParams, KeysQuery, NewKey } from "./schema";

const KEY = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  name: "Release pipeline",
  prefix: "hp_4fKq",
  status: "active",
  scopes: ["releases:write"],
  products: ["core"],
  networks: ["203.0.113.0/24"],
  createdAt: "2026-11-20T09:00:00.000Z",
  expiresAt: "2027-02-18T09:00:00.000Z",
  lastUsedAt: null,
  revokedAt: null,
};

const DAY_MS = 24 * 60 * 60 * 1000;

export const keyOperations = {
  listApiKeys: operation({
    id: "listApiKeys",
    summary: "List the API keys",
    description: "Lists keys, newest first, including those that no longer work. API keys cannot manage API keys.",
    role: "admin",
    query: KeysQuery,
    response: {
      description: "A page of keys.",
      schema: ApiKeys,
      examples: { "One key": { keys: [KEY], nextCursor: null } },
    },
    run: ({ ctx, query }) => listKeys(ctx, query),
  }),

  createApiKey: operation({
    id: "createApiKey",
    summary: "Create an API key",
    description:
      "Creates a key and returns it. It is not shown again. A key is `hp_` and 49 letters and digits, of which the last 6 are a checksum. With `Idempotency-Key`, a repeated request returns 409 `idempotency_key_used` instead of the key, which is stored as a hash only: revoke it and create another one.",
    role: "admin",
    stepUp: true,
    idempotency: "refuse",
    body: NewKey,
    errors: ["idempotency_key_used"],
    examples: {
      "A key for releases": {
        name: "Release pipeline",
        scopes: ["releases:write"],
        products: ["core"],
        expiresAt: "2027-02-18T09:00:00Z",
        networks: ["203.0.113.0/24"],
      },
    },
    response: {
      status: 201,
      description: "The key was created.",
      schema: CreatedKey,
      examples: { "The key": { ...KEY, key: "hp_4fKqZ1mW8sT0bR7yLx2Vd9NcG5hJ3uPaE6oQiYtBkSwDz0A1b2C3" } },
    },
    run: ({ ctx, operator, body }) => createKey(ctx, operator, body),
    form: {
      fields: NewKey.omit({ expiresAt: true }).extend({ lifetime: z.enum(["30", "90", "365", "never"]) }),
      toInput: ({ lifetime, ...key }, { now }) => {
        const expiresAt = lifetime === "never" ? null : new Date(now().getTime() + Number(lifetime) * DAY_MS);
        return { body: { ...key, expiresAt } };
      },
      kept: ["name", "products", "networks", "lifetime", ...Scope.options.map((scope) => `scopes.${scope}`)],
      after: ({ key }) => ({ to: "/console/settings/keys", done: "key_created", secret: { kind: "key", value: key } }),
    },
  }),

  revokeApiKey: operation({
    id: "revokeApiKey",
    summary: "Revoke an API key",
    description: "The key stops working at once. Repeating the request succeeds.",
    role: "admin",
    stepUp: true,
    idempotency: "replay",
    params: KeyParams,
    errors: ["not_found"],
    response: { description: "The key is revoked.", schema: null },
    run: ({ ctx, operator, params }) => revokeKey(ctx, operator, params.keyId),
    form: { after: () => ({ done: "key_revoked" }) },
  }),
};

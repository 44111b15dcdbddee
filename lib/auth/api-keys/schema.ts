import { z } from "zod";
import { Network } from "../../platform/config/networks";
import { NextCursor, PageQuery } from "../../platform/lists";
import { StorableText, Time } from "../../platform/storable";
import { ProductName, Scope } from "../../principal";

const MAX_NETWORKS = 50;
const MAX_PRODUCTS = 50;

/** An API key to create. */
export const NewKey = z.strictObject({
  name: z.string().trim().min(1).max(80).describe("What the key is for."),
  scopes: z
    .array(Scope)
    .min(1)
    .max(Scope.options.length)
    .transform((scopes) => [...new Set(scopes)].sort()),
  products: z
    .array(ProductName)
    .max(MAX_PRODUCTS)
    .transform((products) => [...new Set(products)].sort())
    .default([])
    .describe(
      "The products whose releases the key may read and change. Empty: all. Requires that all scopes are for releases.",
    ),
  expiresAt: Time.nullish().describe("null: the key does not expire."),
  networks: z
    .array(Network)
    .max(MAX_NETWORKS)
    .default([])
    .describe("The networks in CIDR notation that may use the key. Empty: all."),
});
export type NewKey = z.infer<typeof NewKey>;

export const KeysQuery = PageQuery.extend({
  prefix: StorableText.max(64).optional().describe("Only keys that begin with this text."),
});
export type KeysQuery = z.infer<typeof KeysQuery>;

export const KeyParams = z.object({ keyId: z.uuid().toLowerCase() });

/** An API key, without the key itself. */
export const ApiKey = z.object({
  id: z.uuid(),
  name: z.string(),
  prefix: z.string().describe("The first characters of the key."),
  status: z.enum(["active", "expired", "revoked"]),
  scopes: z.array(z.string()),
  products: z.array(z.string()).describe("Empty: all."),
  networks: z.array(z.string()),
  createdAt: z.date(),
  expiresAt: z.date().nullable(),
  lastUsedAt: z.date().nullable().describe("Accurate to an hour."),
  revokedAt: z.date().nullable(),
});
export type ApiKey = z.infer<typeof ApiKey>;

export const CreatedKey = ApiKey.extend({ key: z.string().describe("The key. It is not shown again.") });
export type CreatedKey = z.infer<typeof CreatedKey>;

export const ApiKeys = z.object({ keys: z.array(ApiKey), nextCursor: NextCursor });
export type ApiKeys = z.infer<typeof ApiKeys>;

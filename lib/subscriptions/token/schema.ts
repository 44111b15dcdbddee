import { z } from "zod";

/** The audience of the token, and the key that it is bound to. */
export const TokenQuery = z.object({
  audience: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "Must be 1 to 255 visible ASCII characters")
    .meta({
      description: "The app that checks the token, such as its bundle id: the claim `aud`.",
      examples: ["com.example.core"],
    }),
  jkt: z
    .string()
    .regex(/^[\w-]{43}$/, "Must be the SHA-256 thumbprint of a JWK")
    .optional()
    .describe("The thumbprint of a key of the device (RFC 7638), to which the token is bound: the claim `cnf.jkt`."),
});
export type TokenQuery = z.infer<typeof TokenQuery>;

export const EntitlementToken = z.object({
  token: z.string().describe("A JWT, signed with EdDSA by a key of `/.well-known/jwks.json`."),
  expiresAt: z.date().describe("When the token expires. Fetch a new token well before it expires."),
});
export type EntitlementToken = z.infer<typeof EntitlementToken>;

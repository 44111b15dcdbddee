import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A revoked key is accepted",
  file: "lib/auth/api-keys/keys.ts",
  search: "key !== null && key.revokedAt === null && (key.expiresAt",
  replace: "key !== null && (key.expiresAt",
};

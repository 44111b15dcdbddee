import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A rotation ends the secret before it at once",
  file: "lib/webhooks/endpoints.ts",
  search: "const data = { secret, previousSecret, previousSecretExpiresAt };",
  replace: "const data = { secret, previousSecret, previousSecretExpiresAt: at };",
};

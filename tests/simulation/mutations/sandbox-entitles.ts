import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Purchases of the sandbox give access",
  file: "lib/subscriptions/entitlement-rules.ts",
  search: `return environment === "PRODUCTION" || isSandboxEntitled;`,
  replace: `return environment !== "" || isSandboxEntitled;`,
};

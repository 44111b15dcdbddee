import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A passkey works with the counter that it had at its last use",
  file: "lib/auth/passkeys/verify-assertion.ts",
  search: "{ counter: { lt: counter } }",
  replace: "{ counter: { lte: counter } }",
};

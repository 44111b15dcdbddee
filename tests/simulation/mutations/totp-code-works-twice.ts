import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A code of an authenticator app works again",
  file: "lib/auth/second-factor/totp.ts",
  search: "{ lastStep: { lt: step } }",
  replace: "{ lastStep: { lte: step } }",
};

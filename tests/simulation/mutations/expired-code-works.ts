import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An authorization code works after it has expired",
  file: "lib/auth/authorization-server/authorization-codes.ts",
  search: `if (!isProved || row.expiresAt <= ctx.now()) throw`,
  replace: `if (!isProved) throw`,
};

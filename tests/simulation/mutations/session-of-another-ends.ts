import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A session of another account can be ended",
  file: "lib/accounts/sessions.ts",
  search: "const where = { id: sessionId, accountId, revokedAt: null };",
  replace: "const where = { id: sessionId, revokedAt: null };",
};

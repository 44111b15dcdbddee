import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An authorization code that is presented again leaves the session that it was exchanged for",
  file: "lib/auth/authorization-server/authorization-codes.ts",
  search: `  if (used.sessionId) await revokeSession(ctx, used.sessionId);
`,
  replace: "",
};

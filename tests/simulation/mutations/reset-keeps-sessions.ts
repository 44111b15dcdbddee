import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A password reset leaves the sessions",
  file: "lib/accounts/password-reset.ts",
  search: `  await revokeAllSessions(ctx, tx, now, id);
`,
  replace: "",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The report that it was not me ends no session",
  file: "lib/accounts/emails/not-me.ts",
  search: "const sessions = await revokeAllSessions(ctx, tx, at, accountId);",
  replace: "const sessions = 0;",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A code that was allowed before works after all other sessions were ended",
  file: "lib/accounts/sessions.ts",
  search: `  await revokeGrants(tx, accountId);
`,
  replace: "",
};

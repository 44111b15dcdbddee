import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The audit trail keeps the id of a deleted account",
  file: "lib/accounts/delete-account.ts",
  search: `      await pseudonymizeEvents(config, tx, [accountId]);
`,
  replace: "",
};

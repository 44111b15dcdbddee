import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The deletion of an account is not announced",
  file: "lib/accounts/delete-account.ts",
  search: `      await webhooks.record(tx, [accountDeleted(accountId)]);
`,
  replace: `      void [webhooks, accountDeleted];
`,
};

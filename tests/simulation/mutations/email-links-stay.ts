import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A second request for a change of email leaves the first link",
  file: "lib/accounts/email-change/request.ts",
  search: `  await cancelEmailChanges(tx, createdAt, accountId);
`,
  replace: ``,
};

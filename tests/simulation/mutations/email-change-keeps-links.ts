import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A change of email leaves the reset links",
  file: "lib/accounts/email-change/confirm.ts",
  search: `  await revokePasswordLinks(tx, accountId);
`,
  replace: "",
};

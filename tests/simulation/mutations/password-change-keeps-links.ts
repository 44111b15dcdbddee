import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A change of the password leaves the reset links",
  file: "lib/accounts/sign-in-methods/change-password.ts",
  search: `  await revokePasswordLinks(tx, id);
`,
  replace: `  void revokePasswordLinks;
`,
};

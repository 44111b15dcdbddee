import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A reset link works again",
  file: "lib/accounts/password-reset.ts",
  search: `  await revokePasswordLinks(tx, id);
`,
  replace: "",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Enabling an account that is not disabled is recorded",
  file: "lib/accounts/admin/change-account.ts",
  search: `    if (account[field] === null) return { account, isChanged: false, ...NOTHING_ENDED };
`,
  replace: "",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Disabling an account leaves no event",
  file: "lib/accounts/admin/change-account.ts",
  search: `    await recordAccountChange(tx, disabledAt, operator, id, { type: "account_disabled", reason });
`,
  replace: "",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Disabling an account does not disable it",
  file: "lib/accounts/admin/change-account.ts",
  search: `    await tx.account.update({ where: { id }, data: { disabledAt } });
`,
  replace: "",
};

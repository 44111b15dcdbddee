import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A reset leaves the password as it was",
  file: "lib/accounts/password-reset.ts",
  search: "    await tx.account.update({ where: { id: account.id }, data: { passwordHash } });",
  replace: "    await tx.account.update({ where: { id: account.id }, data: {} });",
};

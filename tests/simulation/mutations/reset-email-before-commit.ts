import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The email of a reset is queued outside of its transaction",
  file: "lib/accounts/password-reset.ts",
  search: "    await tx.account.update({ where: { id: account.id }, data: { passwordHash } });",
  replace: "    await tx.account.update({ where: { id: account.id }, data: {} });",
};

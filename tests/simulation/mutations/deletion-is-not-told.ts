import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The owner of a deleted account gets no email",
  file: "lib/accounts/delete-account.ts",
  search: "if (shouldEmail) await emails",
  replace: "if (by) await emails",
};

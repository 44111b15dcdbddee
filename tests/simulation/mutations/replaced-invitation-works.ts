import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The link of an earlier invitation works after another one was sent",
  file: "lib/accounts/invitations.ts",
  search: "create: { accountId, ...invitation }, update: invitation });",
  replace: "create: { accountId, ...invitation }, update: { createdAt, expiresAt } });",
};

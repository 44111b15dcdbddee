import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A change to an email that is taken is confirmed",
  file: "lib/accounts/email-change/confirm.ts",
  search: "    where: { id, confirmedAt: null, confirmExpiresAt: { gt: now } },",
  replace: "    where: { id, confirmExpiresAt: { gt: now } },",
};

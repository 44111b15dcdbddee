import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A sign-in that was begun with the old password can be completed after a reset",
  file: "lib/auth/second-factor/challenges.ts",
  search: "  if (!row || row.account.sessionEpoch !== row.sessionEpoch) {",
  replace: "  if (!row) {",
};

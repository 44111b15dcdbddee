import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The invitation of a disabled account can be accepted",
  file: "lib/accounts/invitations.ts",
  search: "const where = { tokenHash, expiresAt: { gt: at }, account: { ...UNUSED, disabledAt: null } };",
  replace: "const where = { tokenHash, expiresAt: { gt: at }, account: UNUSED };",
};

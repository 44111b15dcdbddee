import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A reset of the password removes the second factor of a verified account",
  file: "lib/auth/email-verification.ts",
  search: `    where: { id: accountId, emailVerifiedAt: null },
    data: { passwordHash: null },`,
  replace: `    where: { id: accountId },
    data: { passwordHash: null },`,
};

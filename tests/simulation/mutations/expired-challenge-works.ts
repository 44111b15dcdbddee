import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A sign-in can be completed after its challenge has expired",
  file: "lib/auth/second-factor/challenges.ts",
  search: `where: { tokenHash, expiresAt: { gt: now() } },
    include`,
  replace: `where: { tokenHash },
    include`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A reset link works after it has expired",
  file: "lib/accounts/password-reset.ts",
  search: `    const where = { tokenHash, expiresAt: { gt: at } };
`,
  replace: `    const where = { tokenHash };
    void at;
`,
};

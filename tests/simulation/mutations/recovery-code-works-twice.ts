import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A recovery code works again",
  file: "lib/auth/second-factor/recovery-codes.ts",
  search: `  codeHash: hashRecoveryCode(typed),
  usedAt: null,
`,
  replace: `  codeHash: hashRecoveryCode(typed),
`,
};

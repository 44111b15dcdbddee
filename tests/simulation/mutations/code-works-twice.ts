import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An authorization code works again",
  file: "lib/auth/authorization-server/authorization-codes.ts",
  search: `    where: { ...where, usedAt: null },
`,
  replace: `    where,
`,
};

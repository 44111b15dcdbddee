import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Tokens of an older epoch, and of disabled accounts, are accepted",
  file: "lib/auth/sessions/sessions.ts",
  search: `    row.account.disabledAt === null &&
`,
  replace: "",
};

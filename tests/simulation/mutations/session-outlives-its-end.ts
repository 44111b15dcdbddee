import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A session that is used often never expires",
  file: "lib/auth/sessions/sessions.ts",
  search: `    row.expiresAt > at &&
`,
  replace: "",
};

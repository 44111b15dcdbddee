import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A session works although it was not used for longer than it may be idle",
  file: "lib/auth/sessions/sessions.ts",
  search: `    row.idleExpiresAt > at &&
`,
  replace: "",
};

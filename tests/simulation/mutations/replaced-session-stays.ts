import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A sign-in in the same browser leaves the session that it replaces",
  file: "lib/auth/sessions/session-response.ts",
  search: "if (replaced) await",
  replace: "if (replaced === undefined) await",
};

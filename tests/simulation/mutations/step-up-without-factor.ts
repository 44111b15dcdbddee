import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A session of one factor counts as recent for an account that has two",
  file: "lib/auth/sessions/authentication.ts",
  search: "session.aal >= aal && now",
  replace: "now",
};

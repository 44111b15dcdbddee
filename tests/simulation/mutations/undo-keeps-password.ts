import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The undoing of a change of email leaves the password that a stranger has set",
  file: "lib/accounts/email-change/undo.ts",
  search: "...NO_EMAIL_PROBLEM, passwordHash: null }",
  replace: "...NO_EMAIL_PROBLEM }",
};

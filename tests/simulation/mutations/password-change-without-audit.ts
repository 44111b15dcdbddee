import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A change of the password leaves no event in the audit trail",
  file: "lib/accounts/sign-in-methods/change-password.ts",
  search: `    await recordSecurityEvent(tx, ctx.now(), id, "password_changed", caller);
`,
  replace: "",
};

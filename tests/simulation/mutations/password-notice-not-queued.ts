import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The owner gets no notice of a changed password",
  file: "lib/accounts/sign-in-methods/change-password.ts",
  search: `    await ctx.emails.enqueue(tx, "password_changed", email);
`,
  replace: ``,
};

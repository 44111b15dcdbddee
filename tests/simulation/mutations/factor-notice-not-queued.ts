import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The owner is not told of a new authenticator app",
  file: "lib/auth/second-factor/change-factors.ts",
  search: `    await ctx.emails.enqueue(tx, "factor_added", account.email, { factor: "totp" });
`,
  replace: "",
};

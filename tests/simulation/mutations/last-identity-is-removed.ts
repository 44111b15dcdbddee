import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The last way to sign in can be removed",
  file: "lib/accounts/sign-in-methods/identities.ts",
  search: `    if (count === 1) throw new AppError("last_sign_in_method");
`,
  replace: "",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Two resets with one link at the same time both work",
  file: "lib/accounts/password-reset.ts",
  search: `  if ((await link.find(tx, hashEmailedToken(token), now)) === null) throw new AppError("invalid_or_expired_token"); // rolls back
`,
  replace: `  void link;
`,
};

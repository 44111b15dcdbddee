import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A disabled account can sign in",
  file: "lib/auth/account-checks.ts",
  search: '  if (disabledAt !== null) throw new AppError("account_disabled");\n',
  replace: "  void disabledAt;\n",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The check of a password in a step-up is not awaited",
  file: "lib/auth/step-up.ts",
  search: "    await confirmPassword(ctx, { id, passwordHash }, password, caller);",
  replace: "    void confirmPassword(ctx, { id, passwordHash }, password, caller).catch(() => {});",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Two second factors at the same time complete one sign-in twice",
  file: "lib/auth/second-factor/challenges.ts",
  search: `  if (count === 0) throw new AppError("invalid_challenge");`,
  replace: `  if (count < 0) throw new AppError("invalid_challenge");`,
};

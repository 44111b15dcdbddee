import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Whoever signs in with a provider needs no second factor",
  file: "lib/auth/next-auth/sign-in-callback.ts",
  search: `      return challengeSignIn(ctx, owner,`,
  replace: `      return isByProvider ? null : challengeSignIn(ctx, owner,`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An ID token works for a request that it was not issued for",
  file: "lib/auth/sign-in-providers/verify-id-token.ts",
  search: `  if (!isSameSecret(String(payload.nonce), provider.nonceClaim(nonce))) throw invalid("The nonce does not match");
`,
  replace: "",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An authorization code works with another code_verifier",
  file: "lib/auth/authorization-server/authorization-codes.ts",
  search: "row.redirectUri === redirectUri && isSameSecret(row.codeChallenge, sha256(codeVerifier))",
  replace: 'row.redirectUri === redirectUri && codeVerifier !== ""',
};

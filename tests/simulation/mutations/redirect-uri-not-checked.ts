import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An authorization code works with another redirect_uri",
  file: "lib/auth/authorization-server/authorization-codes.ts",
  search: "row.redirectUri === redirectUri && isSameSecret",
  replace: 'redirectUri !== "" && isSameSecret',
};

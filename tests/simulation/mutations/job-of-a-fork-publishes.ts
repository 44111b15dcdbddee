import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A job for code that is not merged gets an access token",
  file: "lib/auth/publishers/match-claims.ts",
  search: "    ...findEventDifferences(publisher, claims),\n",
  replace: "",
};

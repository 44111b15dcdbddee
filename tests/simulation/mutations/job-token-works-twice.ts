import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The ID token of a CI job can be exchanged again",
  file: "lib/auth/publishers/exchange-job-token.ts",
  search: "    if (used.count === 0)\n",
  replace: "    if (used.count > 1)\n",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The job of a publisher gets access to the product that it asks for",
  file: "lib/auth/publishers/exchange-job-token.ts",
  search: "    .filter((publisher) => product === undefined || publisher.product === product)\n",
  replace: "",
};

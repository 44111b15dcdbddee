import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A delivery that failed is not attempted again",
  file: "lib/webhooks/deliver.ts",
  search: "if (status === GONE || attempts > RETRY_DELAYS_SECONDS.length) return null;",
  replace: "if (status !== null || attempts > RETRY_DELAYS_SECONDS.length) return null;",
};

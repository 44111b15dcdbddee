import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A delivery without an answer counts as delivered",
  file: "lib/webhooks/deliver.ts",
  search: "const isDelivered = status !== null && status >= 200 && status < 300;",
  replace: "const isDelivered = status === null || (status >= 200 && status < 300);",
};

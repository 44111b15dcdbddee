import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Access goes on after the end of a canceled subscription",
  file: "lib/subscriptions/status/purchase-status.ts",
  search: `return renewing && !isLifetime && unsubscribedAt === null;`,
  replace: `return renewing && !isLifetime;`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A change of a subscription is not recorded for endpoints",
  file: "lib/subscriptions/notifications/announce-changes.ts",
  search: `  await recordStatusChanges(tx, deps, ofPurchases);`,
  replace: `  void recordStatusChanges;`,
};

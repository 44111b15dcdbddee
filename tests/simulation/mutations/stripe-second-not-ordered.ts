import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Of two events of Stripe in one second either may win",
  file: "lib/subscriptions/fold/fold-purchase.ts",
  search: `applyAmounts(chainStates(unique.toSorted(compareEvents)))`,
  replace: `applyAmounts(unique.toSorted(compareEvents))`,
};

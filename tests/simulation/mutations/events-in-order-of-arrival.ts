import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Events are applied in their order of arrival",
  file: "lib/subscriptions/fold/fold-purchase.ts",
  search: `chainStates(unique.toSorted(compareEvents))`,
  replace: `chainStates(unique)`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Events count in the order of their arrival",
  file: "lib/subscriptions/fold/fold-purchase.ts",
  search: `    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    (a.order`,
  replace: `    (a.order`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Events that name owners count in the order of their arrival",
  file: "lib/subscriptions/ownership.ts",
  search: `for (const event of events.toSorted(compareOwnerEvents)) {`,
  replace: `for (const event of events) {`,
};

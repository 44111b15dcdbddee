import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "No transfer of purchases is applied",
  file: "lib/subscriptions/inbox/decide.ts",
  search: "return hasBothSides ? null :",
  replace: "return !hasBothSides ? null :",
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A transaction whose outcome is unknown is repeated without a check",
  file: "lib/subscriptions/inbox/apply.ts",
  search: '(state === "processed" ? !isReplay : shouldSkipUnprocessed)',
  replace: '(state === "processed" ? false : shouldSkipUnprocessed)',
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "What was made before the process ended is made again by a repetition with the same Idempotency-Key",
  file: "lib/platform/http/idempotency.ts",
  search: `  scope.changeId = claimed.changeId;
`,
  replace: "",
};

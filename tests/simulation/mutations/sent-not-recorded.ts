import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "What was sent stays in the queue",
  file: "lib/push/worker/outcomes.ts",
  search: `  if (sent.length > 0) await recordSent(deps, sent);`,
  replace: `  void recordSent;`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The lease of a queue outlives everything",
  file: "lib/platform/db/queue.ts",
  search: `\${due} = \${dbNow()} + \${seconds(leaseSeconds)}`,
  replace: `\${due} = \${dbNow()} + \${seconds(leaseSeconds * 1_000_000)}`,
};

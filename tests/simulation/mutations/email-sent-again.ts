import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An email that was sent stays in the queue",
  file: "lib/platform/db/queue.ts",
  search: `DELETE FROM \${table} WHERE \${claimCondition(row)}\`)`,
  replace: `DELETE FROM \${table} WHERE \${claimCondition(row)} AND false\`)`,
};

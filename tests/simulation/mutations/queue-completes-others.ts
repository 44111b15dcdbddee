import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A queue forgets the rows that failed",
  file: "lib/platform/db/queue.ts",
  search: `      await db.$executeRaw\`UPDATE \${table} SET \${due} = \${dueAt} \${alsoSet(dueAt)} WHERE \${claimCondition(row)}\`;`,
  replace: `      await db.$executeRaw\`DELETE FROM \${table} WHERE \${claimCondition(row)}\`;
      void [dueAt, alsoSet];`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An email is claimed without a lease",
  file: "lib/platform/db/queue.ts",
  search: `\${due} = \${dbNow()} + \${seconds(leaseSeconds)}
`,
  replace: `\${due} = \${dbNow()} + \${seconds(0 * leaseSeconds)}
`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A delivery is claimed without a lease",
  file: "lib/webhooks/claim-delivery.ts",
  search: `        "nextAttemptAt" = \${dbNow()} + \${seconds(LEASE_SECONDS)},
`,
  replace: `        "nextAttemptAt" = \${dbNow()} + \${seconds(0 * LEASE_SECONDS)},
`,
};

import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A delivery does not end the time for which its endpoint has failed",
  file: "lib/webhooks/deliver.ts",
  search: `    await tx.webhookEndpoint.updateMany({ where, data: { failingSince: null } });
    return;`,
  replace: "    return;",
};
